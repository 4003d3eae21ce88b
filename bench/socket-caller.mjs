import { connect } from 'node:net';

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '\r\n0\r\n\r\n';

/**
 * One keep-alive HTTP connection that makes one call at a time. Written on bare sockets because the load generator
 * shares its cores with what it measures: a call costs it about a fifth of what an HTTP client library costs.
 * Takes answers that name their length, and such in chunks whose content does not look like their end.
 */
export class SocketCaller {
  #socket;
  #received = '';
  #needed = Infinity;
  #chunked = false;
  #pending;

  constructor(socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.setEncoding('latin1');
    socket.on('data', (text) => this.#receive(text));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the connection was closed before the answer')));
  }

  static open(port) {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port }, () => {
        socket.removeListener('error', reject);
        resolve(new SocketCaller(socket));
      });
      socket.once('error', reject);
    });
  }

  /** `done(error, status, text)` is called once; a callback, because a promise per call would cost as much again. */
  call(request, done) {
    this.#pending = done;
    this.#socket.write(request, 'latin1');
  }

  close() {
    this.#pending = undefined;
    this.#socket.destroy();
  }

  #receive(text) {
    this.#received = this.#received === '' ? text : this.#received + text;
    if (this.#chunked) return this.#receiveChunk();
    if (this.#needed === Infinity) {
      const end = this.#received.indexOf(HEAD_END);
      if (end < 0) return;
      const head = this.#received.slice(0, end);
      this.#chunked = /\r\ntransfer-encoding: *chunked/i.test(head);
      if (this.#chunked) return this.#receiveChunk();
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
      if (length === undefined) return this.#fail(new Error('the answer does not name its length'));
      this.#needed = end + HEAD_END.length + Number(length);
    }
    if (this.#received.length >= this.#needed) this.#finish();
  }

  #receiveChunk() {
    if (this.#received.endsWith(LAST_CHUNK)) this.#finish();
  }

  #finish() {
    const whole = this.#received;
    const done = this.#pending;
    this.#received = '';
    this.#needed = Infinity;
    this.#chunked = false;
    this.#pending = undefined;
    done?.(undefined, Number(whole.slice(9, 12)), whole);
  }

  #fail(error) {
    const done = this.#pending;
    this.#pending = undefined;
    done?.(error);
  }
}

/** The text of a request as `call` takes it; its body must be ASCII. */
export function requestText({ method, path, apiKey, headers = {}, body }) {
  const json = body === undefined ? '' : JSON.stringify(body);
  const head = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1', `authorization: Bearer ${apiKey}`];
  head.push(...Object.entries(headers).map(([name, value]) => `${name}: ${value}`));
  if (body !== undefined) head.push('content-type: application/json', `content-length: ${json.length}`);
  return head.join('\r\n') + HEAD_END + json;
}
