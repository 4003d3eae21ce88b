"""Simon Willison's llm: python llm_client.py <job>. Runs its command as a person does, and prints what each step came to."""

import importlib.metadata
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import urllib.request
from concurrent.futures import ThreadPoolExecutor

job = json.loads(sys.argv[1])
prompts = job["prompts"]
MODELS = """
- model_id: darkroom
  model_name: gpt-5.5
  api_base: "%(url)s"
  api_key_name: darkroom
- model_id: darkroom-image
  model_name: gpt-image-2
  api_base: "%(url)s"
  api_key_name: darkroom
  vision: true
"""


def user():
    """A folder of its own for each step: side by side, they would make the database of one log at once."""
    folder = tempfile.mkdtemp(dir=os.environ["HOME"])
    with open(os.path.join(folder, "extra-openai-models.yaml"), "w") as file:
        file.write(MODELS % job)
    return folder


def llm(folder, *args):
    environment = {**os.environ, "LLM_USER_PATH": folder}
    command = [sys.executable, "-m", "llm", *args]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


def shown(text):
    """The image that a text shows."""
    url = re.fullmatch(r"!\[image\]\((\S+)\)", text).group(1)
    with urllib.request.urlopen(url) as response:
        png = response.read()
    if png[1:4] != b"PNG":
        raise ValueError("not a PNG")
    return {"link": "png %dx%d" % struct.unpack(">II", png[16:24])}


def outcome(step):
    try:
        return step()
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)}


def prompt(step, *args):
    folder = user()
    llm(folder, "keys", "set", "darkroom", "--value", job["key"])
    return llm(folder, *args, prompts[step])


image = ["-m", "darkroom-image"]
steps = {
    "ask": lambda: {"text": prompt("ask", "-m", "darkroom", "--no-stream")},
    "askStream": lambda: {"text": prompt("askStream", "-m", "darkroom")},
    "chat": lambda: shown(prompt("chat", *image, "--no-stream")),
    "stream": lambda: shown(prompt("stream", *image)),
    "reference": lambda: shown(prompt("reference", *image, "-a", job["images"][0])),
}
with ThreadPoolExecutor(len(steps)) as pool:
    outcomes = dict(zip(steps, pool.map(outcome, steps.values())))
print(json.dumps({"version": importlib.metadata.version("llm"), "steps": outcomes}))
