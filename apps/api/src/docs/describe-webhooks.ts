import { getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';
import { END_EVENTS, HELD_EVENT, WEBHOOK_TEST, WebhookEvent, WebhookTestEvent } from '#contract/webhook-event.js';

const HEADERS = {
  'webhook-id': 'ID of the event, the same for every attempt; store it to detect duplicates.',
  'webhook-timestamp': 'Time of this attempt, in Unix seconds.',
  'webhook-signature': 'One or two signatures `v1,<base64 HMAC-SHA256>`, separated by a space.',
};

/** Documents the requests that this service sends; the generator only knows those that it receives. */
export function describeWebhooks(document: OpenAPIObject): OpenAPIObject {
  const parameters = Object.entries(HEADERS).map(([name, description]) => ({
    name,
    description,
    in: 'header',
    required: true,
    schema: { type: 'string' },
  }));
  const post = (operationId: string, summary: string, description: string, body: new () => object) => ({
    post: {
      tags: ['Webhooks'],
      operationId,
      summary,
      description,
      parameters,
      // Webhooks are protected by their signature, which has no OpenAPI security scheme.
      security: [],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: getSchemaPath(body) } } },
      },
      responses: {
        '2XX': { description: 'Accepted.' },
        '410': { description: 'Stop sending: the endpoint is disabled.' },
        default: { description: 'Not accepted; the delivery is retried, unless it is a test.' },
      },
    },
  });
  const taskEnded = post(
    'taskEnded',
    'Asynchronous task finished, or task waits for an approval',
    `Sent to its \`callback_url\` and to the endpoints of its account: ${END_EVENTS.join(', ')}. ` +
      `${HELD_EVENT} is sent to the endpoints that ask for it, for asynchronous and synchronous requests. ` +
      'Signed according to Standard Webhooks; verify with `openai.webhooks.unwrap()`.',
    WebhookEvent,
  );
  const endpointTested = post(
    'endpointTested',
    'Endpoint test',
    `Sent once to one endpoint when a user tests it in the console: \`${WEBHOOK_TEST}\`, signed like every webhook.`,
    WebhookTestEvent,
  );
  return Object.assign(document, { webhooks: { taskEnded, endpointTested } });
}
