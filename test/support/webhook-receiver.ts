import { once } from 'node:events';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { waitUntil } from '#embedded/wait-until.js';
import { TEST_CERTIFICATE } from './test-certificate.js';

/** A received webhook. */
export interface Received {
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: { id: string; object: string; type: string; created_at: number; timestamp: string; data: TaskData };
}

interface TaskData {
  readonly id: string;
  readonly status: string;
  readonly phase: string;
  readonly result?: { images: { url: string[] }[] };
  readonly error?: { code: string };
}

type Answer = (response: ServerResponse, received: Received) => void;

/** An https server on this machine that receives webhooks; responds with 200 unless set otherwise for a path. */
export interface WebhookReceiver {
  readonly port: number;
  /** The URL of one of its paths. */
  url(path: string): string;
  /** The webhooks of a path so far. */
  at(path: string): Received[];
  /** The webhooks of a path once there are this many; throws with those received after 30 s. */
  arrived(path: string, count?: number): Promise<Received[]>;
  /** Sets the response of a path: a status, or any other response. */
  answer(path: string, answer: number | Answer): void;
  close(): Promise<void>;
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const all: Received[] = [];
  const answers = new Map<string, number | Answer>();
  const server = createServer(TEST_CERTIFICATE, (request, response) => {
    void text(request).then((body) => {
      const { method = '', headers, url: path = '' } = request;
      const received = { path, method, headers, body, event: JSON.parse(body) as Received['event'] };
      all.push(received);
      const answer = answers.get(path) ?? 200;
      if (typeof answer === 'number') response.writeHead(answer).end();
      else answer(response, received);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const at = (path: string): Received[] => all.filter((received) => received.path === path);
  return {
    port,
    url: (path) => `https://127.0.0.1:${port}${path}`,
    at,
    arrived: async (path, count = 1) => {
      if (!(await waitUntil(() => at(path).length >= count, { timeoutMs: 60_000 })))
        throw new Error(`${at(path).length} of ${count} webhooks came to ${path}`);
      return at(path);
    },
    answer: (path, answer) => {
      answers.set(path, answer);
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
