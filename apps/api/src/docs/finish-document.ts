import { ApiExtension, type OpenAPIObject } from '@nestjs/swagger';

/** Marks the bodies of an operation until the document is finished. */
const BODIES = 'x-bodies';

type Schema = {
  properties?: Record<string, { type?: string | string[]; enum?: unknown[]; $ref?: string }>;
  required?: string[];
};

/** A body of several media types with a schema each, which the generator cannot express. */
export function DescribeBodies(content: Readonly<Record<string, object>>): MethodDecorator {
  return ApiExtension(BODIES, content);
}

/** Puts in what the generator leaves out: bodies by media type, and that `null` counts as absent in requests. */
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
