import { readFileSync } from 'node:fs';

/** A route that reads a body, as its document has it. */
export interface BodyRoute {
  readonly method: string;
  /** With something in place of what the caller names. */
  readonly path: string;
  /** Whether a form may be sent. */
  readonly takesForms: boolean;
  readonly isConsole: boolean;
}

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
}

const METHODS = ['post', 'put', 'patch', 'delete'];

/** Every route of both documents that may be sent a body, so that a new one is looked at without being named. */
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
