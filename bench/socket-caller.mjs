import { connect } from 'node:net';

const HEAD_END = '\r\n\r\n';
const LAST_CHUNK = '\r\n0\r\n\r\n';
const BOUNDARY = 'darkroom-bench-6f1c';

/**
 * A keep-alive HTTP connection that makes one call at a time. Uses bare sockets because the load generator shares its
 * CPU cores with what it measures: a call costs about a fifth of what an HTTP client library needs. Reads responses
 * with a content length, or in chunks whose content does not look like the last chunk.
 */
export class SocketCaller {
  #socket;
  #received = '';
  #needed = Infinity;
  #chunked = false;
  #end = '';
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
    if (this.#chunked) return this.#receiveChunk(text);
    if (this.#needed === Infinity) {
      const end = this.#received.indexOf(HEAD_END);
      if (end < 0) return;
      const head = this.#received.slice(0, end);
      this.#chunked = /\r\ntransfer-encoding: *chunked/i.test(head);
      if (this.#chunked) return this.#receiveChunk(this.#received);
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
      if (length === undefined) return this.#fail(new Error('the answer does not name its length'));
      this.#needed = end + HEAD_END.length + Number(length);
    }
    if (this.#received.length >= this.#needed) this.#finish();
  }

  /** Checks only the last bytes: checking all of a long response would copy it with every piece. */
  #receiveChunk(text) {
    this.#end = (this.#end + text.slice(-LAST_CHUNK.length)).slice(-LAST_CHUNK.length);
    if (this.#end === LAST_CHUNK) this.#finish();
  }

  #finish() {
    const whole = this.#received;
    const done = this.#pending;
    this.#received = '';
    this.#needed = Infinity;
    this.#chunked = false;
    this.#end = '';
    this.#pending = undefined;
    done?.(undefined, Number(whole.slice(9, 12)), whole);
  }

  #fail(error) {
    const done = this.#pending;
    this.#pending = undefined;
    done?.(error);
  }
}

/**
 * The text of a request for `call`: with `body` as JSON, which must be ASCII, or with the fields of a form and its
 * image.
 */
export function requestText({ method, path, apiKey, headers = {}, body, form }) {
  const json = body === undefined ? '' : JSON.stringify(body);
  const content = form === undefined ? json : formText(form);
  const head = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1', `authorization: Bearer ${apiKey}`];
  head.push(...Object.entries(headers).map(([name, value]) => `${name}: ${value}`));
  if (body !== undefined) head.push('content-type: application/json');
  if (form !== undefined) head.push(`content-type: multipart/form-data; boundary=${BOUNDARY}`);
  if (content !== '') head.push(`content-length: ${content.length}`);
  return head.join('\r\n') + HEAD_END + content;
}

/** `image`: the bytes of a PNG; each becomes one character, because `call` writes Latin-1. */
function formText({ image, ...fields }) {
  const part = (head, content) => `--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n`;
  const texts = Object.entries(fields).map(([name, value]) => part(`name="${name}"`, value));
  const file = part('name="image"; filename="image.png"\r\nContent-Type: image/png', image.toString('latin1'));
  return `${texts.join('')}${file}--${BOUNDARY}--\r\n`;
}

/** The body of a response from `call`, without chunk sizes. */
export function bodyOf(answer) {
  const end = answer.indexOf(HEAD_END);
  const body = answer.slice(end + HEAD_END.length);
  if (!/\r\ntransfer-encoding: *chunked/i.test(answer.slice(0, end + 2))) return body;
  const pieces = [];
  for (let at = 0; at < body.length;) {
    const line = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.slice(at, line), 16);
    if (!(size > 0)) break;
    pieces.push(body.slice(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
  return pieces.join('');
}
