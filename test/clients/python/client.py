"""openai-python, of any version: python client.py <job>. Prints what each step came to, as node/report.mjs does."""

import base64
import json
import struct
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import openai

MAX_TRIES = 6
job = json.loads(sys.argv[1])
prompts = job["prompts"]
client = openai.OpenAI(api_key=job["key"], base_url=job["url"])
stranger = openai.OpenAI(api_key="sk-nobody", base_url=job["url"])
streams = not openai.__version__.startswith("1.40.")


def size_of(png):
    if png[1:4] != b"PNG":
        raise ValueError("not a PNG")
    return "png %dx%d" % struct.unpack(">II", png[16:24])


def image_of(answer):
    item = answer.data[0]
    with urllib.request.urlopen(item.url) as response:
        link = size_of(response.read())
    return {"link": link, "base64": size_of(base64.b64decode(item.b64_json))}


def generate(prompt, **more):
    return client.images.generate(model="gpt-image-2", prompt=prompt, **more)


def edit(prompt, **more):
    files = {"image": open(job["images"][0], "rb"), **more}
    return client.images.edit(model="gpt-image-2", prompt=prompt, **files)


def events(stream):
    types = []
    for event in stream:
        types.append(event.type)
    return {"types": types, "base64": size_of(base64.b64decode(event.b64_json))}


def insist(call):
    """Calls as a person does who tries again when the client gives up with a 504."""
    tries = 1
    while True:
        try:
            return {**image_of(call()), "tries": tries}
        except openai.APIStatusError as error:
            if error.status_code != 504 or tries == MAX_TRIES:
                raise
        tries += 1


def outcome(step):
    try:
        return step()
    except Exception as error:
        return {
            "error": type(error).__name__,
            "status": getattr(error, "status_code", None),
            "code": getattr(error, "code", None),
            "message": str(error),
        }


steps = {
    "models": lambda: [model.id for model in client.models.list().data],
    "generation": lambda: image_of(generate(prompts["generation"])),
    "edit": lambda: image_of(edit(prompts["edit"])),
    "mask": lambda: image_of(edit(prompts["mask"], mask=open(job["mask"], "rb"), size="1024x1024")),
    "refused": lambda: generate("a house", size="huge"),
    "stranger": lambda: stranger.images.generate(model="gpt-image-2", prompt="a house"),
    "cut": lambda: image_of(generate(prompts["cut"], size="1024x1024")),
    "badGateway": lambda: image_of(generate(prompts["badGateway"], size="1024x1024")),
    "patience": lambda: insist(lambda: generate(prompts["patience"], size="1024x1024")),
    "editPatience": lambda: insist(lambda: edit(prompts["editPatience"], size="1024x1024")),
}
if streams:
    # Several files came with the GPT image models, as streams did.
    files = lambda: [open(path, "rb") for path in job["images"]]
    steps["files"] = lambda: image_of(edit(prompts["files"], image=files()))
    steps["stream"] = lambda: events(generate(prompts["stream"], stream=True, size="1024x1024"))
    steps["editStream"] = lambda: events(edit(prompts["editStream"], stream=True, size="1024x1024"))

with ThreadPoolExecutor(len(steps)) as pool:
    outcomes = dict(zip(steps, pool.map(outcome, steps.values())))
print(json.dumps({"version": openai.__version__, "steps": outcomes}))
