import type { IncomingMessage } from 'node:http';

/** Azure's paths: `/openai/v1/...`, `/openai/deployments/<name>/...`, and without either. */
const AZURE = /^\/openai(?:\/v1|\/deployments\/([^/?#]+))?(?=\/)/;
const deployments = new WeakMap<IncomingMessage, string>();

/** The URL of a request as OpenAI has it. The deployment in it names the model of a body without one (`inDeployment`). */
export function openAiUrl(request: IncomingMessage, url: string): string {
  const found = AZURE.exec(url);
  if (found === null) return url;
  const [prefix, deployment] = found;
  if (deployment !== undefined) deployments.set(request, decoded(deployment));
  return `/v1${url.slice(prefix.length)}`;
}

/** A body with the model that the request's path names, unless it names one itself. */
export function inDeployment(request: IncomingMessage, body: unknown): unknown {
  const model = deployments.get(request);
  if (model === undefined || typeof body !== 'object' || body === null || Array.isArray(body)) return body;
  const own = body as { readonly model?: unknown };
  return own.model === undefined || own.model === null ? { ...body, model } : body;
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
