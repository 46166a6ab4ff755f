"""Random flight through a city, headless: python fly.py --usd /path/town.usdc --num_envs 16 --headless --enable_cameras

Run with Isaac Lab's Python (isaaclab.sh -p).
"""

import argparse

from isaaclab.app import AppLauncher

parser = argparse.ArgumentParser()
parser.add_argument("--usd", required=True, help="made by: flaneur export CITY --usd --out FILE.usdc")
parser.add_argument("--num_envs", type=int, default=16)
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--light", default="day")
AppLauncher.add_app_launcher_args(parser)
arguments = parser.parse_args()
app = AppLauncher(arguments).app  # Isaac Sim is started before anything of it is imported

import torch  # noqa: E402
from city_task import CityTask, CityTaskCfg  # noqa: E402

config = CityTaskCfg(usd_path=arguments.usd, light=arguments.light)
config.scene.num_envs = arguments.num_envs
env = CityTask(config)
print(f"{env.facts.name}: {len(env.object_classes)} classes of objects. {env.facts.licence}")
env.reset()
total = torch.zeros(env.num_envs, device=env.device)
for _ in range(arguments.steps):
    _, reward, _, _, _ = env.step(2 * torch.rand(env.num_envs, 5, device=env.device) - 1)
    total += reward
print(f"mean reward after {arguments.steps} steps: {total.mean():.2f}")
env.close()
app.close()
