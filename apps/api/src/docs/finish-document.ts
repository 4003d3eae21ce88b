import type { OpenAPIObject } from '@nestjs/swagger';
import { ChatCompletionBody, ChatMessageView } from '#contract/chat-request-view.js';
import { ResponseBody } from '#contract/response-view.js';
import { BODIES } from '../common/describe.js';

/** Bodies whose unknown fields are passed on; without this, typed clients could not send them. */
const OPEN: readonly string[] = [ChatCompletionBody.name, ChatMessageView.name, ResponseBody.name];

type Property = {
  type?: string | string[];
  enum?: unknown[];
  default?: string | number | boolean;
  description?: string;
};
type Schema = { properties?: Record<string, Property>; required?: string[]; additionalProperties?: boolean };

/** Adds what the generator omits: bodies by media type, and optional, nullable, or unknown fields of requests. */
export function finishDocument(document: OpenAPIObject): OpenAPIObject {
  for (const path of Object.values(document.paths)) {
    for (const operation of Object.values(path) as Record<string, unknown>[]) {
      const content = operation[BODIES];
      if (content === undefined) continue;
      operation['requestBody'] = { required: true, content };
      Reflect.deleteProperty(operation, BODIES);
    }
  }
  for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) {
    if (name.endsWith('Request')) allowNull(schema as Schema);
    if (OPEN.includes(name)) (schema as Schema).additionalProperties = true;
  }
  return document;
}

function allowNull({ properties = {}, required = [] }: Schema): void {
  for (const [name, property] of Object.entries(properties)) {
    if (required.includes(name) || property.type === undefined) continue;
    property.type = [property.type, 'null'].flat();
    if (property.enum !== undefined) property.enum = [...property.enum, null];
  }
}

/** Moves defaults into the descriptions: openapi-typescript makes fields with a `default` required. */
export function describeDefaults(document: OpenAPIObject): OpenAPIObject {
  const requests = Object.entries(document.components?.schemas ?? {}).filter(([name]) => /(Request|Form)$/.test(name));
  for (const [, { properties = {} }] of requests as [string, Schema][]) {
    for (const property of Object.values(properties)) {
      if (property.default === undefined) continue;
      property.description = `${property.description ?? ''} Default: \`${property.default}\`.`.trimStart();
      delete property.default;
    }
  }
  return document;
}
