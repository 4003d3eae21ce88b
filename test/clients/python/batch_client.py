"""openai-python: python batch_client.py <job>. Runs a batch as an application would, and prints what it came to."""

import json
import sys
import time

import openai

job = json.loads(sys.argv[1])
client = openai.OpenAI(api_key=job["key"], base_url=job["url"])
url = "/v1/images/generations"
text = "\n".join(
    json.dumps({"custom_id": line["id"], "method": "POST", "url": url, "body": line["body"]}) for line in job["lines"]
)

source = client.files.create(file=("in.jsonl", text.encode()), purpose="batch")
batch = client.batches.create(input_file_id=source.id, endpoint=url, completion_window="24h")
while batch.status not in ("completed", "failed", "expired", "cancelled"):
    time.sleep(0.2)
    batch = client.batches.retrieve(batch.id)


def lines_of(file_id):
    return [json.loads(line) for line in client.files.content(file_id).text.splitlines()] if file_id else []


listed = [one.id for one in client.batches.list(limit=1)]
purposes = sorted({one.purpose for one in client.files.list()})
output = lines_of(batch.output_file_id)
errors = lines_of(batch.error_file_id)
counts = batch.request_counts
print(
    json.dumps(
        {
            "status": batch.status,
            "counts": {"total": counts.total, "completed": counts.completed, "failed": counts.failed},
            "output": output,
            "errors": errors,
            "isListed": batch.id in listed,
            "purposes": purposes,
            "cancelled": client.batches.cancel(batch.id).status,
            "deleted": client.files.delete(source.id).deleted,
        }
    )
)
