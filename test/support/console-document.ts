import { Ajv2020 } from 'ajv/dist/2020.js';
import { readFileSync } from 'node:fs';

interface Answer {
  readonly method: string;
  /** Below /console/api, with or without a query. */
  readonly path: string;
  readonly status: number;
  readonly body: unknown;
}

const document = JSON.parse(readFileSync('console-openapi.json', 'utf8')) as { paths: Record<string, object> };
const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema(document, 'console');

/** Paths with fewer parameters first: `/failures/tasks` does not match `/failures/{id}`. */
const paths = Object.keys(document.paths)
  .map((template) => ({
    template,
    holes: template.split('{').length,
    pattern: new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
  }))
  .sort((one, other) => one.holes - other.holes);

/** The pages rely on types from console-openapi.json. Throws an Error when a response differs from that document. */
export function assertDescribed({ method, path, status, body }: Answer): void {
  const { pathname } = new URL(`/console/api${path}`, 'http://console');
  const found = paths.find(({ pattern }) => pattern.test(pathname));
  if (found === undefined) throw new Error(`${pathname} is not described`);
  const steps = [found.template, method.toLowerCase(), 'responses', String(status), 'content', 'application/json'];
  const pointer = ['paths', ...steps, 'schema'].map((step) =>
    encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1')),
  );
  const validate = ajv.getSchema(`console#/${pointer.join('/')}`);
  if (validate === undefined) throw new Error(`What ${method} ${found.template} answers is not described`);
  if (validate(body) === true) return;
  throw new Error(`${method} ${path} does not answer what is described: ${ajv.errorsText(validate.errors)}`);
}
