"""Workloads: many linear queries at once, at the least error: `Workload(matrix).plan(epsilon=1)`."""

from discreet.workload.mechanism import Answers, WorkloadMechanism
from discreet.workload.workload import Workload

__all__ = ["Answers", "Workload", "WorkloadMechanism"]
