"""The learning curve of the elbow's pose task with PPO: `python -m benchmarks.own.learning FILE.csv [SEEDS]`.

PPO is that of Stable-Baselines3 (extra `ppo`). An episode succeeds as in MyoSuite, if more than five of its steps are
within the threshold. Agents are evaluated on episodes of other seeds with deterministic actions.
"""

import importlib
import importlib.metadata
import sys
import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from myoquat.environments import VectorEnvironment, load_task
from myoquat.environments.stable_baselines3 import stable_baselines3_env

TASK, STATES = "elbow_pose", 64
STEPS_BETWEEN, EVALUATIONS = 20_480, 10
EPISODES, FIRST_EVALUATED_SEED = 200, 10_000
SUCCESSFUL_STEPS = 5
SETTINGS: dict[str, Any] = {
    "n_steps": 64, "batch_size": 1024, "n_epochs": 8, "learning_rate": 1e-3, "gamma": 0.95,
    "policy_kwargs": {"net_arch": [64, 64]}, "device": "cpu",
}  # fmt: skip


def learning_curve(seed: int) -> list[tuple[int, int, float, float, float, float]]:
    """Rows (seed, steps, successes, steps within the threshold, return, seconds of training)."""
    torch: Any = importlib.import_module("torch")
    PPO: Any = importlib.import_module("stable_baselines3").PPO
    torch.set_num_threads(1)
    agent = PPO("MlpPolicy", stable_baselines3_env(_environments(STATES)), seed=seed, **SETTINGS)
    rows, taken = [], 0.0
    for k in range(EVALUATIONS):
        began = perf_counter()
        agent.learn(STEPS_BETWEEN, reset_num_timesteps=k == 0)
        taken += perf_counter() - began
        solved, total = _evaluated(agent)
        rows.append((seed, agent.num_timesteps, float((solved > SUCCESSFUL_STEPS).mean()), float(solved.mean()),
                     float(total.mean()), taken))  # fmt: skip
    return rows


def _environments(count: int) -> VectorEnvironment:
    return VectorEnvironment(load_task(TASK), count, autoreset="same_step")


def _evaluated(agent: Any) -> tuple[np.ndarray, np.ndarray]:
    """(episodes,) steps within the threshold, and returns, of one episode each."""
    envs = _environments(EPISODES)
    seen, _ = envs.reset(seed=FIRST_EVALUATED_SEED)
    solved, total = np.zeros(EPISODES), np.zeros(EPISODES)
    going = np.ones(EPISODES, dtype=bool)
    for _ in range(envs.task.horizon):
        actions, _ = agent.predict(seen, deterministic=True)
        seen, reward, ended, late, infos = envs.step(actions)
        last = infos.get("final_info", {}).get("solved", 0.0)
        solved += going * np.where(ended | late, last, infos["solved"])
        total += going * reward
        going &= ~(ended | late)
    return solved, total


def main(path: Path, seeds: int) -> None:
    """Write the curves of some seeds, with their origin, as a CSV file."""
    version = {name: importlib.metadata.version(name) for name in ("stable-baselines3", "torch", "myo-sim")}
    origin = ", ".join(f"{name} {number}" for name, number in version.items())
    lines = [f"# python -m benchmarks.own.learning {path.name} {seeds}: {TASK}, {origin}",
             "seed,steps,successes,steps_within,return,seconds"]  # fmt: skip
    for seed in range(seeds):
        lines += [",".join(f"{x:.6g}" for x in row) for row in learning_curve(seed)]
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3)
