import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json, late, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

/** A pause of a reader, a fifth of it, may last ten seconds longer on a busy machine. */
const REQUEST_TIMEOUT_MS = 15_000;
/** More than the buffers of both ends of a connection take. */
const LONG = 'x'.repeat(64_000_000);

describe('H1: a response that its caller does not read', () => {
  let platform: ApiPlatform;
  let upstream: ChatUpstream;
  let folder: string;
  const sockets: Socket[] = [];

  beforeAll(async () => {
    upstream = await startChatUpstream();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-unread-'));
    await writeFile(
      join(folder, 'models.yaml'),
      `providers:
  up: { type: openai, base_url: "${upstream.url}", keys: [{ env: UP_KEY, name: main }] }
models:
  chatty: { kind: chat, routes: [{ provider: up }] }
`,
    );
    platform = await startApiPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      UP_KEY: 'sk-upstream',
      REQUEST_TIMEOUT_MS: String(REQUEST_TIMEOUT_MS),
    });
  });
  afterAll(async () => {
    for (const socket of sockets) socket.destroy();
    await platform.close();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Sends a chat on a connection of its own. */
  function chat(): Socket {
    const { port, hostname, host } = new URL(platform.url);
    const socket = connect(Number(port), hostname);
    sockets.push(socket);
    socket.on('error', () => undefined);
    const body = JSON.stringify({ model: 'chatty', messages: [{ role: 'user', content: 'hi' }] });
    const head = [`host: ${host}`, `authorization: Bearer ${platform.key}`, 'content-type: application/json'];
    const lines = ['POST /v1/chat/completions HTTP/1.1', ...head, `content-length: ${body.length}`, '', body];
    socket.write(lines.join('\r\n'));
    return socket;
  }

  it('is given up once nothing of it has been read for REQUEST_TIMEOUT_MS, and so is the call behind it', async () => {
    upstream.answer = (response) => void response.writeHead(200, { 'content-type': 'application/json' }).write(LONG);
    const socket = chat();
    await once(socket, 'data');
    socket.pause();
    // Nobody else ends this call: the caller stays, and the limit of a chat is 10 minutes.
    await upstream.received[0]?.aborted;
    expect((await platform.call('/v1/models')).status).toBe(200);
  });

  it('is not given up while its caller waits for longer, or reads it slowly', async () => {
    upstream.answer = late(REQUEST_TIMEOUT_MS * 1.5, json(LONG));
    const socket = chat();
    let read = 0;
    let pauses = 0;
    socket.on('data', (chunk: Buffer) => {
      read += chunk.length;
      if (read > LONG.length) socket.end();
      if (read < (pauses + 1) * 8_000_000) return;
      pauses++;
      socket.pause();
      setTimeout(() => socket.resume(), REQUEST_TIMEOUT_MS / 5);
    });
    await once(socket, 'close');
    expect(read).toBeGreaterThan(LONG.length);
    expect(pauses).toBeGreaterThan(5);
  });
});
