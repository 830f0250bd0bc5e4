"""The LoTbench game for verifiers: a task a sample, played at a `lotbench serve`."""

from lotbench_v1.environment import LotEnv, LotTaskset

__all__ = ["LotEnv", "LotTaskset"]
