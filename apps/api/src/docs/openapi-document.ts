import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { WebhookEvent } from '#contract/webhook-event.js';
import { describeWebhooks } from './describe-webhooks.js';
import { finishDocument } from './finish-document.js';

const DESCRIPTION = [
  'OpenAI-compatible images: point an OpenAI SDK at this address and use your key.',
  'Every call, sync ones too, is a task that can be polled by its `x-task-id`.',
  'Clients must ignore response fields they do not know; fields are only ever added within `/v1`.',
].join('\n\n');

/** The OpenAPI document, made from the controllers and the contract's classes. */
export function openApiDocument(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Darkroom')
    .setDescription(DESCRIPTION)
    .setVersion('1.0.0')
    .addServer('/')
    .addBearerAuth({ type: 'http', scheme: 'bearer', description: 'Your API key.' })
    .build();
  const document = SwaggerModule.createDocument(app, config, { extraModels: [WebhookEvent] });
  return describeWebhooks(finishDocument(document));
}
