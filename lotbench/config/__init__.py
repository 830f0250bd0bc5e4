"""What a person asks for: the experiment, model names, judge panels."""
