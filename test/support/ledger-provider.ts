import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import sharp from 'sharp';

/** The faults of an OpenAI-like provider. */
export type ProviderFault =
  | 'hang'
  | 'http-401'
  | 'http-429'
  | 'http-500'
  | 'http-503'
  | 'moderation'
  | 'cut-before-answer'
  | 'cut-in-body'
  | 'html'
  | 'html-502'
  | 'empty-list'
  | 'wrong-json'
  | 'not-an-image'
  | 'huge';

/** The starts of one prompt: first the faults in order, then images. */
export interface Plan {
  /** Milliseconds until the response. */
  readonly latencyMs?: number;
  /** The response also waits for this. */
  readonly until?: Promise<unknown>;
  readonly faults?: readonly ProviderFault[];
}

/** One start, recorded when the request has been read and before anything else happens. */
export interface LedgerEntry {
  readonly marker: string;
  readonly at: number;
  /** Its planned outcome. */
  readonly fate: ProviderFault | 'image';
  readonly path: string;
  readonly authorization: string;
  readonly idempotencyKey: string | undefined;
}

const HUGE_BYTES = 200_000_000;
const HUGE_PIECE = Buffer.alloc(1_000_000, 'A');
/** Part of the prompt, so that a start can be matched to its request. */
const MARKER = /mark-[a-z0-9]+/;

/** A provider with an append-only ledger of all starts. */
export class LedgerProvider {
  private readonly written: LedgerEntry[] = [];
  private readonly plans = new Map<string, Plan>();
  private readonly server: Server;
  private readonly closing = new AbortController();

  private constructor(private readonly image: string) {
    this.server = createServer((request, response) => {
      this.serve(request, response).catch(() => response.destroy());
    });
  }

  static async start(): Promise<LedgerProvider> {
    const png = await sharp({ create: { width: 1024, height: 1024, channels: 3, background: '#5577aa' } })
      .png()
      .toBuffer();
    const provider = new LedgerProvider(png.toString('base64'));
    provider.server.listen(0, '127.0.0.1');
    await once(provider.server, 'listening');
    return provider;
  }

  /** For OPENAI_BASE_URL, directly or as the target of a proxy. */
  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/v1`;
  }

  get ledger(): readonly LedgerEntry[] {
    return this.written;
  }

  plan(marker: string, plan: Plan): void {
    this.plans.set(marker, plan);
  }

  startsOf(marker: string): LedgerEntry[] {
    return this.written.filter((entry) => entry.marker === marker);
  }

  async close(): Promise<void> {
    this.closing.abort();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = String(await buffer(request));
    const marker = MARKER.exec(text)?.[0] ?? 'unmarked';
    const plan = this.plans.get(marker) ?? {};
    const fate = plan.faults?.[this.startsOf(marker).length] ?? 'image';
    this.written.push({
      marker,
      at: Date.now(),
      fate,
      path: request.url ?? '',
      authorization: request.headers.authorization ?? '',
      idempotencyKey: request.headers['idempotency-key'] as string | undefined,
    });
    await delay(plan.latencyMs ?? 0, undefined, { signal: this.closing.signal, ref: false });
    await plan.until;
    if (fate === 'image') sendImage(response, this.image, /"stream":\s*true|name="stream"\r\n\r\ntrue/.test(text));
    else await misbehave(response, fate, this.image);
  }
}

function sendImage(response: ServerResponse, image: string, streamed: boolean): void {
  const usage = {
    input_tokens: 12,
    output_tokens: 4160,
    total_tokens: 4172,
    input_tokens_details: { text_tokens: 12, image_tokens: 0 },
  };
  if (!streamed) return sendJson(response, 200, { created: 1_794_650_000, data: [{ b64_json: image }], usage });
  const type = 'image_generation.completed';
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`event: ${type}\ndata: ${JSON.stringify({ type, b64_json: image, usage })}\n\n`);
}

async function misbehave(response: ServerResponse, fault: ProviderFault, image: string): Promise<void> {
  switch (fault) {
    case 'hang':
      return;
    case 'http-401':
      return sendError(response, 401, 'invalid_api_key', 'Incorrect API key provided: sk-ledger-secret-key.');
    case 'http-429':
      response.setHeader('retry-after', '1');
      return sendError(response, 429, 'rate_limit_exceeded', 'Rate limit reached.');
    case 'http-500':
      return sendError(response, 500, 'server_error', 'The server had an error.');
    case 'http-503':
      return sendError(response, 503, 'server_error', 'The engine is overloaded.');
    case 'moderation':
      return sendError(response, 400, 'moderation_blocked', 'Your request was rejected by the safety system.');
    case 'cut-before-answer':
      response.socket?.resetAndDestroy();
      return;
    case 'cut-in-body':
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': image.length + 1_000 });
      response.write(`{"created":1,"data":[{"b64_json":"${image.slice(0, 2_000)}`, () => {
        response.socket?.resetAndDestroy();
      });
      return;
    case 'html':
    case 'html-502':
      response.writeHead(fault === 'html' ? 200 : 502, { 'content-type': 'text/html' });
      response.end('<html><body><h1>Bad gateway</h1></body></html>');
      return;
    case 'empty-list':
      return sendJson(response, 200, { created: 1, data: [] });
    case 'wrong-json':
      return sendJson(response, 200, { created: 'yesterday', images: 'none', data: { b64_json: 7 } });
    case 'not-an-image':
      return sendJson(response, 200, { created: 1, data: [{ b64_json: Buffer.from('<svg/>').toString('base64') }] });
    case 'huge':
      return await sendHuge(response);
  }
}

async function sendHuge(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write('{"created":1,"data":[{"b64_json":"');
  for (let sent = 0; sent < HUGE_BYTES && !response.destroyed; sent += HUGE_PIECE.length) {
    if (!response.write(HUGE_PIECE)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
  }
  response.end('"}]}');
}

function sendError(response: ServerResponse, status: number, code: string, message: string): void {
  sendJson(response, status, { error: { message, type: 'error', param: null, code } });
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
