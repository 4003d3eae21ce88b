import { readFileSync } from 'node:fs';

/** A route with a request body, from its OpenAPI document. */
export interface BodyRoute {
  readonly method: string;
  /** With placeholders for its parameters. */
  readonly path: string;
  /** Whether it accepts forms. */
  readonly takesForms: boolean;
  readonly isConsole: boolean;
}

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
}

const METHODS = ['post', 'put', 'patch', 'delete'];

/** All routes of both documents with a request body, so that tests cover new ones automatically. */
export function bodyRoutes(): BodyRoute[] {
  return ['openapi.json', 'console-openapi.json'].flatMap((file) => {
    const { paths } = JSON.parse(readFileSync(file, 'utf8')) as { paths: Record<string, Record<string, Operation>> };
    return Object.entries(paths).flatMap(([path, operations]) =>
      METHODS.flatMap((method) => {
        const operation = operations[method];
        if (operation === undefined) return [];
        return {
          method: method.toUpperCase(),
          path: path.replaceAll(/\{[^}]+\}/g, 'x'),
          takesForms: 'multipart/form-data' in (operation.requestBody?.content ?? {}) || path === '/console/api/edits',
          isConsole: path.startsWith('/console/'),
        };
      }),
    );
  });
}
