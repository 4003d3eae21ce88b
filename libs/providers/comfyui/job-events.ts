import type { Socket } from 'node:net';
import { Agent, buildConnector, WebSocket } from 'undici';
import { textAt, valueAt } from '../http/json-value.js';

const OPEN_TIMEOUT_MS = 2_000;
/** How long a server may take to close the connection. */
const CLOSE_TIMEOUT_MS = 1_000;
/** Binary messages start with their type; an image's format follows. */
const PREVIEW = 1;
const PREVIEW_HEADER_BYTES = 8;
/** Longer messages contain nothing that is needed here. */
const MAX_TEXT_CHARACTERS = 65_536;
const ENDS: ReadonlySet<string> = new Set(['execution_success', 'execution_error', 'execution_interrupted']);

/** Receives events of running jobs. Nothing depends on them, because jobs are polled as well. */
export interface JobListener {
  /** Progress of the running step, 0..1. */
  readonly onProgress: (jobId: string, part: number) => void;
  readonly onPreview: (image: Buffer) => void;
  /** The job has ended, or is about to. */
  readonly onEnd: (jobId: string) => void;
}

/**
 * Receives events of a client's running jobs. They are optional: the connection may fail to open or close at any time,
 * without an error.
 */
export class JobEvents {
  private constructor(
    private readonly socket: WebSocket,
    private readonly connection: { raw: Socket | undefined },
  ) {}

  /** Resolves when the connection is open or has failed. */
  static async open(
    baseUrl: string,
    clientId: string,
    apiKey: string | undefined,
    listener: JobListener,
  ): Promise<JobEvents> {
    const url = `${baseUrl.replace(/^http/, 'ws')}/ws?clientId=${encodeURIComponent(clientId)}`;
    const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    const connection: { raw: Socket | undefined } = { raw: undefined };
    const connect = buildConnector({ timeout: OPEN_TIMEOUT_MS });
    const dispatcher = new Agent({
      connect: (options, callback) => {
        connect(options, (...[error, raw]) => {
          if (error !== null) return callback(error, null);
          connection.raw = raw;
          callback(null, raw);
        });
      },
    });
    const socket = new WebSocket(url, { headers, dispatcher });
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('message', ({ data }: { data: unknown }) => {
      if (data instanceof ArrayBuffer) hearImage(Buffer.from(data), listener);
      else if (typeof data === 'string') hearText(data, listener);
    });
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, OPEN_TIMEOUT_MS);
      for (const event of ['open', 'error', 'close'] as const) {
        socket.addEventListener(event, () => {
          clearTimeout(timer);
          resolve();
        });
      }
    });
    return new JobEvents(socket, connection);
  }

  close(): void {
    this.socket.close();
    // A server that never confirms the close would keep the connection open forever.
    setTimeout(() => this.connection.raw?.destroy(), CLOSE_TIMEOUT_MS).unref();
  }
}

function hearImage(message: Buffer, { onPreview }: JobListener): void {
  if (message.length > PREVIEW_HEADER_BYTES && message.readUInt32BE(0) === PREVIEW) {
    onPreview(message.subarray(PREVIEW_HEADER_BYTES));
  }
}

function hearText(text: string, { onProgress, onEnd }: JobListener): void {
  if (text.length > MAX_TEXT_CHARACTERS) return;
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    return;
  }
  const type = textAt(message, 'type');
  const jobId = textAt(message, 'data', 'prompt_id');
  if (type === undefined || jobId === undefined) return;
  if (type === 'progress') {
    const value = valueAt(message, 'data', 'value');
    const max = valueAt(message, 'data', 'max');
    if (typeof value === 'number' && typeof max === 'number' && max > 0) onProgress(jobId, Math.min(value / max, 1));
  }
  if (ENDS.has(type) || (type === 'executing' && valueAt(message, 'data', 'node') === null)) onEnd(jobId);
}
