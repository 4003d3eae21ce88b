/** Webhook receivers with verification, ready to run with the secret in DARKROOM_WEBHOOK_SECRET. */
export const VERIFY_SNIPPETS: Readonly<Record<string, string>> = {
  Node: `// npm install standardwebhooks
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env.DARKROOM_WEBHOOK_SECRET);

createServer(async (request, response) => {
  const body = await text(request);
  try {
    const event = webhook.verify(body, request.headers); // throws when it is not genuine
    response.writeHead(204).end();
    if (event.type === 'image.task.completed') console.log(event.data.result.images[0].url[0]);
    if (event.type === 'webhook.test') console.log('Test event received.');
  } catch {
    response.writeHead(400).end();
  }
}).listen(8000);`,
  Python: `# pip install flask standardwebhooks
import os

from flask import Flask, request
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

app = Flask(__name__)
webhook = Webhook(os.environ["DARKROOM_WEBHOOK_SECRET"])


@app.post("/")
def receive():
    try:
        event = webhook.verify(request.get_data(as_text=True), dict(request.headers))
    except WebhookVerificationError:
        return "", 400
    if event["type"] == "image.task.completed":
        print(event["data"]["result"]["images"][0]["url"][0])
    if event["type"] == "webhook.test":
        print("Test event received.")
    return "", 204`,
};
