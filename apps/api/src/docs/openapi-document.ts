import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { ErrorResponse } from '#contract/error-response.js';
import { WebhookEvent, WebhookTestEvent } from '#contract/webhook-event.js';
import { VERSION } from '#config/package.js';
import { CONSOLE_API } from '../console/protect-console.js';
import { describeWebhooks } from './describe-webhooks.js';
import { describeDefaults, finishDocument } from './finish-document.js';

const DESCRIPTION = [
  'OpenAI-compatible image API: set this address as the base URL of an OpenAI SDK and use your API key.',
  'Every image request, synchronous or asynchronous, is a task that you can poll by its `x-task-id`.',
  'Clients must ignore unknown response fields: `/v1` may add fields, but never removes any.',
].join('\n\n');

/** Proprietary; there is no license text to link to. */
const LICENSE = { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' };

/** Groups of operations, in reading order. */
const TAGS = {
  Images: 'Generate and edit images, synchronously or asynchronously.',
  Tasks: 'State and result of image requests.',
  Chat: 'Chat completions, Responses, and images for chat-only clients.',
  Models: 'Models available to an API key.',
  Uploads: 'Reusable reference images.',
  Batches: 'Many image requests in one file, and its results.',
  Usage: 'Usage and cost.',
  Files: 'Generated image files.',
  Health: 'Probes for load balancers and orchestrators.',
  Webhooks: 'Events sent to your endpoints.',
  'Provider webhooks': 'Events that providers send.',
};

/**
 * The public API's OpenAPI document, generated from the controllers and the contract's classes. `path`: where the API is
 * on its host, if not at the root.
 */
export function openApiDocument(app: INestApplication, path = ''): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Darkroom')
    .setDescription(DESCRIPTION)
    .setVersion(VERSION)
    .addServer(path === '' ? '/' : path)
    .addBearerAuth({
      type: 'http',
      scheme: 'bearer',
      description: 'Your API key. Instead, clients of Azure may send it in the header `api-key`.',
    });
  for (const [name, description] of Object.entries(TAGS)) builder.addTag(name, description);
  const config = builder.build();
  config.info.license = LICENSE;
  const document = SwaggerModule.createDocument(app, config, { extraModels: [WebhookEvent, WebhookTestEvent] });
  return describeWebhooks(
    onlyPaths(describeDefaults(finishDocument(document)), (path) => !isOfConsole(path), [
      WebhookEvent.name,
      WebhookTestEvent.name,
    ]),
  );
}

/** The OpenAPI document of the console's API, which is internal and may change. */
export function consoleDocument(app: INestApplication): OpenAPIObject {
  const config = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Darkroom console')
    .setDescription(
      'Internal API of the console at /console. It changes without notice; programs should use the public API. Errors are ErrorResponse.',
    )
    .setVersion(VERSION)
    .addServer('/')
    .addCookieAuth('darkroom_session')
    .build();
  return onlyPaths(finishDocument(SwaggerModule.createDocument(app, config)), isOfConsole, [ErrorResponse.name]);
}

function isOfConsole(path: string): boolean {
  return path.startsWith(`${CONSOLE_API}/`);
}

/** The document with some of its paths, and the schemas that these paths and `kept` refer to. */
function onlyPaths(document: OpenAPIObject, isWanted: (path: string) => boolean, kept: string[] = []): OpenAPIObject {
  const paths = Object.fromEntries(Object.entries(document.paths).filter(([path]) => isWanted(path)));
  const schemas = document.components?.schemas ?? {};
  const named = new Set(kept);
  const follow = (part: unknown): void => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (named.has(name)) continue;
      named.add(name);
      follow(schemas[name] ?? null);
    }
  };
  follow(paths);
  for (const name of kept) follow(schemas[name] ?? null);
  const used = Object.fromEntries(Object.entries(schemas).filter(([name]) => named.has(name)));
  return { ...document, paths, components: { ...document.components, schemas: used } };
}
