import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { acceptWebSocket, type WebSocketPeer } from './web-socket-server.js';

type Nodes = Record<string, { class_type: string; inputs: Record<string, unknown> }>;

/** The outcome of the next jobs. */
export interface Drawing {
  /** Saved images; none for a workflow that saves nothing. */
  readonly files?: readonly Buffer[];
  /** The server's previews, one after each step. */
  readonly previews?: readonly Buffer[];
  /** The type of the exception that ends the job. */
  readonly exception?: string;
  /** Runs until it is interrupted, or until `finish` is called. */
  readonly endless?: boolean;
  /** Its sockets are cut off in the middle. */
  readonly dropsSockets?: boolean;
}

interface Job {
  readonly id: string;
  readonly clientId: string;
  readonly nodes: Nodes;
}

export interface ComfyCall {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

type Answer = (response: ServerResponse) => void;

/** ComfyUI's API: one job at a time, the others wait; finished ones are in the history. */
export class FakeComfyUi {
  readonly calls: ComfyCall[] = [];
  /** Uploaded files, by `<subfolder>/<name>`. */
  readonly uploads = new Map<string, Buffer>();
  readonly socketHeaders: IncomingHttpHeaders[] = [];
  /** Responses that replace the server's own, by `<method> <path without query>`, each for one call. */
  readonly faults = new Map<string, Answer[]>();
  drawing: Drawing = {};
  /** The workflows of the jobs that brought images, in order. */
  readonly drawn: Nodes[] = [];
  /** Whether it responds to close frames. */
  isPolite = true;
  /** Whether it rejects sockets. */
  refusesSockets = false;
  private running: Job | undefined;
  private pending: Job[] = [];
  private history: Record<string, unknown> = {};
  private readonly sockets = new Map<string, WebSocketPeer>();
  private readonly peers: WebSocketPeer[] = [];
  private readonly server = createServer((request, response) => {
    void buffer(request).then(async (body) => {
      const { method = '', url = '', headers } = request;
      const call = { method, path: url, headers, body };
      this.calls.push(call);
      const [path = ''] = url.split('?', 1);
      const fault = this.faults.get(`${method} ${path.replace(/^\/history\/.*/, '/history')}`)?.shift();
      if (fault === undefined) await this.answer(call, new URL(url, 'http://comfy'), response);
      else fault(response);
    });
  });
  private stored = new Map<string, Buffer>();

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async start(): Promise<this> {
    this.server.on('upgrade', (request, socket) => {
      this.socketHeaders.push(request.headers);
      if (this.refusesSockets) return void socket.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n');
      const clientId = new URL(request.url ?? '', 'http://comfy').searchParams.get('clientId') ?? '';
      const peer = acceptWebSocket(request, socket, this.isPolite);
      this.sockets.set(clientId, peer);
      this.peers.push(peer);
      peer.send(
        JSON.stringify({ type: 'status', data: { status: { exec_info: { queue_remaining: 0 } }, sid: clientId } }),
      );
    });
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    return this;
  }

  async close(): Promise<void> {
    this.dropSockets();
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  /** Forgets everything, like a restart. */
  forget(): void {
    this.running = undefined;
    this.pending = [];
    this.history = {};
  }

  dropSockets(): void {
    for (const peer of this.peers.splice(0)) peer.drop();
    this.sockets.clear();
  }

  get openSockets(): number {
    return this.peers.filter(({ isOpen }) => isOpen).length;
  }

  get runningId(): string | undefined {
    return this.running?.id;
  }

  get pendingIds(): readonly string[] {
    return this.pending.map(({ id }) => id);
  }

  /** The workflow of the last order. */
  get lastNodes(): Nodes {
    const call = this.calls.findLast(({ method, path }) => method === 'POST' && path === '/prompt');
    return (JSON.parse(String(call?.body)) as { prompt: Nodes }).prompt;
  }

  /** Ends the running job as defined, and starts the next. */
  finish(): void {
    const job = this.running;
    if (job === undefined) return;
    const { files = [], exception } = this.drawing;
    const base = { prompt_id: job.id, node_id: '3', node_type: 'KSampler', executed: [] };
    if (exception !== undefined) {
      const event = {
        ...base,
        exception_type: exception,
        exception_message: `failed: ${JSON.stringify(job.nodes)}`,
        traceback: [],
      };
      this.end(job, 'error', {}, ['execution_error', event]);
      return;
    }
    if (files.length > 0) this.drawn.push(job.nodes);
    const images = files.map((file, index) => {
      const image = { filename: `Darkroom_${String(index)}_${job.id}.png`, subfolder: '', type: 'output' };
      this.stored.set(image.filename, file);
      return image;
    });
    this.end(job, 'success', images.length === 0 ? {} : { 9: { images } }, [
      'execution_success',
      { prompt_id: job.id },
    ]);
  }

  private begin(): void {
    if (this.running !== undefined) return;
    const job = (this.running = this.pending.shift());
    if (job === undefined) return;
    setImmediate(() => {
      this.tell(job, 'execution_start', { prompt_id: job.id });
      const { previews = [], endless = false, dropsSockets = false } = this.drawing;
      const steps = Math.max(previews.length, 2);
      for (let step = 1; step <= steps; step++) {
        this.tell(job, 'progress', { value: step, max: steps, prompt_id: job.id, node: '3' });
        const preview = previews[step - 1];
        // Type 1, then format 1: a JPEG.
        if (preview !== undefined)
          this.sockets.get(job.clientId)?.send(Buffer.concat([Buffer.from([0, 0, 0, 1, 0, 0, 0, 1]), preview]));
      }
      if (dropsSockets) this.dropSockets();
      if (!endless) this.finish();
    });
  }

  private end(job: Job, status: 'success' | 'error', outputs: object, event: readonly [string, object]): void {
    this.tell(job, event[0], event[1]);
    this.history[job.id] = {
      prompt: [1, job.id, job.nodes, {}, ['9']],
      outputs,
      status: { status_str: status, completed: status === 'success', messages: [['execution_start', {}], event] },
    };
    this.running = undefined;
    this.tell(job, 'executing', { node: null, prompt_id: job.id });
    this.begin();
  }

  private tell(job: Job, type: string, data: object): void {
    this.sockets.get(job.clientId)?.send(JSON.stringify({ type, data }));
  }

  private async answer({ method, headers, body }: ComfyCall, url: URL, response: ServerResponse): Promise<void> {
    const json = (value: unknown, status = 200): void => {
      response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(value));
    };
    const sent = (): Record<string, unknown> => JSON.parse(String(body)) as Record<string, unknown>;
    const entry = (job: Job): unknown => [1, job.id, job.nodes, { client_id: job.clientId }, ['9']];
    switch (`${method} ${url.pathname.replace(/^\/history\/.*/, '/history')}`) {
      case 'POST /upload/image': {
        const type = headers['content-type'] ?? '';
        const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
        const file = form.get('image') as File;
        const subfolder = form.get('subfolder') as string;
        this.uploads.set(`${subfolder}/${file.name}`, Buffer.from(await file.arrayBuffer()));
        json({ name: file.name, subfolder, type: form.get('type') });
        return;
      }
      case 'POST /prompt':
        this.order(sent(), json);
        return;
      case 'GET /queue':
        json({ queue_running: this.running ? [entry(this.running)] : [], queue_pending: this.pending.map(entry) });
        return;
      case 'POST /queue': {
        const ids = sent()['delete'] as string[];
        this.pending = this.pending.filter(({ id }) => !ids.includes(id));
        response.writeHead(200).end();
        return;
      }
      case 'POST /interrupt':
        if (this.running)
          this.end(this.running, 'error', {}, ['execution_interrupted', { prompt_id: this.running.id }]);
        response.writeHead(200).end();
        return;
      case 'GET /history': {
        const id = decodeURIComponent(url.pathname.slice('/history/'.length));
        json(this.history[id] === undefined ? {} : { [id]: this.history[id] });
        return;
      }
      case 'GET /view': {
        const image = this.stored.get(url.searchParams.get('filename') ?? '');
        if (image === undefined) response.writeHead(404).end();
        else response.writeHead(200, { 'content-type': 'image/png' }).end(image);
        return;
      }
      default:
        response.writeHead(404).end('404: Not Found');
    }
  }

  /** Validates like the real server, with the same messages; a missing upload is an error of its node. */
  private order(sent: Record<string, unknown>, json: (value: unknown, status?: number) => void): void {
    const nodes = sent['prompt'] as Nodes;
    const refuse = (type: string, faults: object): void => {
      json(
        {
          error: { type, message: 'Prompt outputs failed validation', details: '', extra_info: {} },
          node_errors: faults,
        },
        400,
      );
    };
    if (Object.values(nodes).every(({ class_type: kind }) => kind !== 'SaveImage'))
      return refuse('prompt_no_outputs', {});
    const fault = (id: string, type: string, input: string): object => ({
      [id]: {
        errors: [
          {
            type,
            message: 'No.',
            details: `${input}: ${String(nodes[id]?.inputs[input])}`,
            extra_info: { input_name: input },
          },
        ],
        dependent_outputs: ['9'],
        class_type: nodes[id]?.class_type,
      },
    });
    for (const [id, { class_type: kind, inputs }] of Object.entries(nodes)) {
      if (kind.startsWith('LoadImage') && !this.uploads.has(String(inputs['image'])))
        return refuse('prompt_outputs_failed_validation', fault(id, 'custom_validation_failed', 'image'));
      if (inputs['ckpt_name'] === 'missing.safetensors')
        return refuse('prompt_outputs_failed_validation', fault(id, 'value_not_in_list', 'ckpt_name'));
    }
    const job = { id: String(sent['prompt_id']), clientId: String(sent['client_id']), nodes };
    this.pending.push(job);
    json({ prompt_id: job.id, number: 1, node_errors: {} });
    this.begin();
  }
}
