import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A completely received call. */
export interface UpstreamCall {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Resolves when the caller's connection has closed, for any reason. */
  readonly closed: Promise<void>;
}

/** Defines the response to one call. */
export type Script = (call: UpstreamCall, response: ServerResponse) => void | Promise<void>;

/** A local HTTP server whose responses the test defines. */
export interface ScriptedUpstream {
  /** With /v1, like a configured base URL. */
  readonly url: string;
  /** All calls so far, in order. */
  readonly calls: readonly UpstreamCall[];
  /** Scripts for the next calls, one each; the last one stays. */
  script(...scripts: Script[]): void;
  close(): Promise<void>;
}

/** Starts on 127.0.0.1, on a free port unless one is given. Without a script, it responds with 599. */
export async function startUpstream(port = 0): Promise<ScriptedUpstream> {
  const calls: UpstreamCall[] = [];
  let scripts: Script[] = [];
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const closed = once(response, 'close').then(() => undefined);
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { method = '', url = '', headers } = request;
    const call = { method, path: url, headers, body: Buffer.concat(parts), closed };
    calls.push(call);
    const script = scripts.length > 1 ? scripts.shift() : scripts[0];
    if (script === undefined) response.writeHead(599).end();
    else await script(call, response);
  }
  // Kept for longer than a busy machine needs from one call to the next.
  server.keepAliveTimeout = 75_000;
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls,
    script: (...next) => {
      scripts = next;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Responds with JSON. */
export function json(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Script {
  return (_call, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
  };
}

/** Responds with another content type. */
export function text(body: string | Buffer, contentType: string, status = 200): Script {
  return (_call, response) => {
    response.writeHead(status, { 'content-type': contentType }).end(body);
  };
}

/** Announces this length, sends the text and cuts the connection. */
export function cut(body: string, announced: number, contentType = 'application/json'): Script {
  return async (_call, response) => {
    response.writeHead(200, { 'content-type': contentType, 'content-length': String(announced) });
    await new Promise<void>((sent) => response.write(body, () => sent()));
    response.destroy();
  };
}

/** Never responds, or only sends this beginning, until the caller has gone. */
export function hang(begun?: string): Script {
  return async (call, response) => {
    if (begun !== undefined) response.writeHead(200, { 'content-type': 'application/json' }).write(begun);
    await call.closed;
  };
}

/** Server-sent events in OpenAI's format, each in two halves so that none arrives in one piece. */
export function events(...documents: readonly (Record<string, unknown> & { readonly type: string })[]): Script {
  return (_call, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    response.write(': keep-alive\n\n');
    for (const document of documents) {
      const body = JSON.stringify(document);
      const half = Math.floor(body.length / 2);
      response.write(`event: ${document.type}\ndata: ${body.slice(0, half)}`);
      response.write(`${body.slice(half)}\n\n`);
    }
    response.end('data: [DONE]\n\n');
  };
}

/** OpenAI's response with this image. */
export function image(bytes: Buffer, more: Readonly<Record<string, unknown>> = {}): Script {
  return json({ created: 1_795_233_600, data: [{ b64_json: bytes.toString('base64') }], ...more });
}

/** OpenAI's error response. */
export function apiError(
  status: number,
  error: { type?: string; code?: string | null; param?: string | null; message?: string; [more: string]: unknown } = {},
  headers: Readonly<Record<string, string>> = {},
): Script {
  const body = { error: { message: 'No.', type: 'server_error', code: null, param: null, ...error } };
  return json(body, status, headers);
}
