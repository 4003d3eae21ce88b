import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { FakeComfyUi } from './comfyui-server.js';

interface Job {
  readonly id: string;
  readonly metadata: unknown;
}

interface ProxyCall {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

type Json = Readonly<Record<string, unknown>>;
type Answer = (response: ServerResponse) => void | Promise<void>;

/**
 * Comfy API v2 in front of a ComfyUI server, by comfy-api-proxy 0.1.6 (app.py): a key starts one job ever, and is
 * released only if ComfyUI rejects the workflow; jobs are told apart by their `metadata`; uploads are named by ids.
 */
export class ComfyApiProxy {
  readonly calls: ProxyCall[] = [];
  /** What happens to the answer to the next workflows that were accepted, one each. */
  readonly answers: ((answer: Answer) => Answer)[] = [];
  /** A number of the next workflows that it is too busy for: a code of the API, though this proxy has no limit. */
  refusals = 0;
  /** Whether it forgets jobs, but not their keys, as if it had had no answer of ComfyUI. */
  forgetsJobs = false;
  /** Whether an upload is forgotten before its workflow arrives. */
  forgetsUploads = false;
  private jobs: Job[] = [];
  private readonly keys = new Set<string>();
  private readonly assets = new Map<string, string>();
  private readonly server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    this.calls.push({ method, path: url, headers });
    void buffer(request)
      .then(async (body) => this.answer(`${method} ${url}`, headers, body))
      .then(async (answer) => answer(response))
      .catch(() => response.destroy());
  });

  constructor(private readonly comfy: FakeComfyUi) {}

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async start(): Promise<this> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return this;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  /** Like a restart without --state-dir. */
  forget(): void {
    this.jobs = [];
    this.keys.clear();
    this.assets.clear();
  }

  /** The keys of workflows that were sent, in order. */
  get sentKeys(): unknown[] {
    return this.calls
      .filter(({ method, path }) => method === 'POST' && path === '/api/v2/jobs')
      .map(({ headers }) => headers['idempotency-key']);
  }

  private async answer(call: string, headers: IncomingHttpHeaders, body: Buffer): Promise<Answer> {
    const [, id = '', part = ''] = /^\w+ \/api\/v2\/(?:jobs|assets)\/([^/?]+)(\/\w+)?$/.exec(call) ?? [];
    if (call === 'POST /api/v2/jobs') return this.submit(headers, JSON.parse(String(body)) as Json);
    if (call.startsWith('GET /api/v2/jobs?')) return this.list();
    if (call === 'POST /api/v2/assets') return this.upload(headers, body);
    if (call.startsWith('GET /api/v2/assets/') && part === '/content') return this.content(decodeURIComponent(id));
    if (call.startsWith('POST /api/v2/jobs/') && part === '/cancel') return this.cancel(id);
    if (call.startsWith('GET /api/v2/jobs/') && part === '') {
      const job = this.jobs.find((one) => one.id === id);
      return job === undefined ? error(404, 'not_found', `No job ${id}.`) : json(200, await this.view(job));
    }
    return error(404, 'not_found', 'Not found.');
  }

  private async submit(headers: IncomingHttpHeaders, sent: Json): Promise<Answer> {
    const { workflow, metadata } = sent;
    if (this.refusals > 0) {
      this.refusals -= 1;
      const full = error(429, 'queue_full', 'The queue is full.');
      return (response) => full(response.setHeader('retry-after', '1'));
    }
    if (typeof workflow !== 'object' || workflow === null) return error(422, 'invalid_workflow', "Missing 'workflow'.");
    if (typeof metadata !== 'string') return error(422, 'invalid_request', "'metadata' must be a string.");
    const missing: string[] = [];
    const resolved = JSON.parse(JSON.stringify(workflow), (_name, value: unknown) => {
      const { __type: type, info } = Object(value) as { __type?: string; info?: { id: string } };
      if (type !== 'core/ASSET') return value;
      const file = this.assets.get(info?.id ?? '');
      if (file === undefined) missing.push(String(info?.id));
      return file;
    }) as unknown;
    if (missing.length > 0) return error(422, 'missing_asset', `Unresolvable: ${missing.join()}`);
    const key = headers['idempotency-key'] as string;
    if (this.keys.has(key))
      return error(422, 'idempotency_key_reuse', 'This Idempotency-Key has already been used. Keys are single-use.');
    this.keys.add(key);
    const id = randomUUID();
    const order = JSON.stringify({ prompt: resolved, prompt_id: id, client_id: id });
    const answer = await fetch(`${this.comfy.url}/prompt`, { method: 'POST', body: order });
    if (answer.status !== 200) {
      this.keys.delete(key);
      const refusal = (await answer.json().catch(() => ({}))) as { error?: { message: string }; node_errors?: Json };
      const details = { node_errors: refusal.node_errors ?? {} };
      return error(422, 'invalid_workflow', refusal.error?.message ?? 'Workflow rejected.', details);
    }
    const job = { id, metadata };
    if (!this.forgetsJobs) this.jobs.unshift(job);
    const accepted = json(201, { ...(await this.view(job)), status: 'queued' });
    return this.answers.shift()?.(accepted) ?? accepted;
  }

  private async list(): Promise<Answer> {
    return json(200, { jobs: await Promise.all(this.jobs.map((job) => this.view(job))), truncated: false });
  }

  private async view({ id, metadata }: Job): Promise<Json> {
    const history = (await this.ask(`/history/${id}`)) as Record<string, Json | undefined>;
    const entry = history[id] as
      | { outputs: Record<string, { images?: Json[] }>; status: { status_str: string; messages: [string, Json][] } }
      | undefined;
    const common = { id, metadata, queue_position: null, progress: null, outputs: [] as Json[], error: null };
    if (entry === undefined) {
      const queue = (await this.ask('/queue')) as Record<string, unknown[][]>;
      if (queue['queue_running']?.some((one) => one[1] === id))
        return { ...common, status: 'running', progress: { value: 0.5, nodes_done: 1, nodes_total: 2 } };
      return { ...common, status: queue['queue_pending']?.some((one) => one[1] === id) ? 'queued' : 'expired' };
    }
    const failure = entry.status.messages.find(([event]) => event === 'execution_error')?.[1];
    if (entry.status.messages.some(([event]) => event === 'execution_interrupted'))
      return { ...common, status: 'canceled' };
    if (failure !== undefined) {
      const shown = { code: 'node_execution_error', node_id: failure['node_id'], class_type: failure['node_type'] };
      const message = `${String(failure['exception_type'])}: ${String(failure['exception_message'])}`;
      return { ...common, status: 'failed', error: { ...shown, message, traceback: null } };
    }
    const outputs = Object.entries(entry.outputs).flatMap(([node, { images = [] }]) =>
      images.map((image) => ({
        node_id: node,
        name: image['filename'],
        type: 'image',
        content_type: 'image/png',
        id: Buffer.from(JSON.stringify(image)).toString('base64url'),
        hash: null,
        url: 'http://another-host.example/content',
      })),
    );
    return { ...common, status: 'succeeded', outputs };
  }

  private async upload(headers: IncomingHttpHeaders, body: Buffer): Promise<Answer> {
    const type = headers['content-type'] ?? '';
    const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
    const [file, path] = [form.get('file'), form.get('file_path')];
    if (!(file instanceof File) || typeof path !== 'string')
      return error(422, 'invalid_request', "Missing 'file' part.");
    const [, folder = '', name = ''] = /^(?:input\/)?(.*)\/([^/]+)$/.exec(path) ?? [];
    const bytes = Buffer.from(await file.arrayBuffer());
    const id = createHash('sha256').update(bytes).digest('hex');
    const sent = new FormData();
    sent.append('image', new Blob([bytes]), name);
    for (const [field, value] of Object.entries({ type: 'input', subfolder: folder })) sent.append(field, value);
    await fetch(`${this.comfy.url}/upload/image`, { method: 'POST', body: sent });
    if (!this.forgetsUploads) this.assets.set(id, `${folder}/${name}`);
    return json(201, { id, hash: null, file_path: path, created_new: true });
  }

  private async content(id: string): Promise<Answer> {
    const image = JSON.parse(Buffer.from(id, 'base64url').toString()) as Record<string, string>;
    const found = await fetch(`${this.comfy.url}/view?${new URLSearchParams(image).toString()}`);
    if (found.status !== 200) return error(404, 'output_unavailable', 'Output bytes are no longer retrievable.');
    const bytes = Buffer.from(await found.arrayBuffer());
    return (response) => void response.writeHead(200, { 'content-type': 'image/png' }).end(bytes);
  }

  private async cancel(id: string): Promise<Answer> {
    const job = this.jobs.find((one) => one.id === id);
    if (job === undefined) return error(404, 'not_found', `No job ${id}.`);
    if (this.comfy.runningId === id) await fetch(`${this.comfy.url}/interrupt`, { method: 'POST', body: '{}' });
    else await fetch(`${this.comfy.url}/queue`, { method: 'POST', body: JSON.stringify({ delete: [id] }) });
    return json(200, await this.view(job));
  }

  private async ask(path: string): Promise<unknown> {
    return (await fetch(this.comfy.url + path)).json();
  }
}

function json(status: number, value: unknown): Answer {
  return (response) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function error(status: number, code: string, message: string, details: Json | null = null): Answer {
  return json(status, { error: { code, message, details } });
}
