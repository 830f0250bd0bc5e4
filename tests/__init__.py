"""The tests of lotbench, with the fakes and the fake server that they run against."""
