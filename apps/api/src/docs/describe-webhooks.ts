import { getSchemaPath, type OpenAPIObject } from '@nestjs/swagger';
import { WEBHOOK_EVENTS, WEBHOOK_TEST, WebhookEvent, WebhookTestEvent } from '#contract/webhook-event.js';

const HEADERS = {
  'webhook-id': 'The same for every attempt of an event; remember it to tell a repetition.',
  'webhook-timestamp': 'Of this attempt, unix seconds.',
  'webhook-signature': 'One or two of `v1,<base64 HMAC-SHA256>`, separated by a space.',
};

/** Documents the requests that this service sends; the generator only knows those that it receives. */
export function describeWebhooks(document: OpenAPIObject): OpenAPIObject {
  const parameters = Object.entries(HEADERS).map(([name, description]) => ({
    ...{ name, description },
    in: 'header',
    required: true,
    schema: { type: 'string' },
  }));
  const post = (operationId: string, summary: string, description: string, body: new () => object) => ({
    post: {
      tags: ['Webhooks'],
      ...{ operationId, summary, description, parameters },
      // Webhooks are protected by their signature, which has no OpenAPI security scheme.
      security: [],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: getSchemaPath(body) } } },
      },
      responses: {
        '2XX': { description: 'Taken.' },
        '410': { description: 'No more events, please: the endpoint is disabled.' },
        default: { description: 'Not taken; it comes again, unless it is a test.' },
      },
    },
  });
  const taskEnded = post(
    'taskEnded',
    'The end of an asynchronous task',
    `Sent to its \`callback_url\` and to the endpoints of its account: ${WEBHOOK_EVENTS.join(', ')}. ` +
      'Signed as Standard Webhooks says; `openai.webhooks.unwrap()` verifies it.',
    WebhookEvent,
  );
  const endpointTested = post(
    'endpointTested',
    'A test of an endpoint',
    `Sent once to one endpoint when its owner asks for it in the console: \`${WEBHOOK_TEST}\`, signed like every webhook.`,
    WebhookTestEvent,
  );
  return Object.assign(document, { webhooks: { taskEnded, endpointTested } });
}
