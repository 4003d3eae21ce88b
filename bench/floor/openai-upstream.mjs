// A chat and image provider that responds immediately, always with the same bytes, so that only the time in between is
// measured. Images take the latency set by /latency?ms=N; /ledger returns what was requested and paid.
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { noisePng } from '../noise-png.mjs';

const PIECES = 20;
const CHAT_USAGE = { prompt_tokens: 12, completion_tokens: PIECES, total_tokens: 12 + PIECES };
const HEAD = { id: 'chatcmpl-bench', created: 1_794_650_000, model: 'gpt-5.5' };
const WHOLE = Buffer.from(
  JSON.stringify({
    ...HEAD,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'word '.repeat(PIECES), refusal: null },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: CHAT_USAGE,
  }),
);
const piece = (fields) =>
  Buffer.from(`data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', ...fields })}\n\n`);
const word = piece({ choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }], usage: null });
const last = piece({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: null });
const count = piece({ choices: [], usage: CHAT_USAGE });
const END = Buffer.from('data: [DONE]\n\n');

const TEXT = 'word '.repeat(PIECES);
const RESPONSE_USAGE = { input_tokens: 12, output_tokens: PIECES, total_tokens: 12 + PIECES };
const message = (status, content) => ({ id: 'msg_bench', type: 'message', status, role: 'assistant', content });
const spoken = { type: 'output_text', text: TEXT, annotations: [], logprobs: [] };
const responseOf = (id, fields) => ({
  ...{ id, object: 'response', created_at: HEAD.created, status: 'completed', error: null, incomplete_details: null },
  ...{ instructions: null, model: HEAD.model, output: [], parallel_tool_calls: true, previous_response_id: null },
  ...{ store: true, temperature: 1, text: { format: { type: 'text' } }, tool_choice: 'auto', tools: [], top_p: 1 },
  ...{ usage: null, user: null, metadata: {}, ...fields },
});
const event = (type, fields) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
const PLACE = { item_id: 'msg_bench', output_index: 0, content_index: 0 };
/** What lies between the events that have the response itself. */
const SPEAKING = [
  event('response.output_item.added', { output_index: 0, item: message('in_progress', []) }),
  event('response.content_part.added', { ...PLACE, part: { ...spoken, text: '' } }),
  ...Array(PIECES).fill(event('response.output_text.delta', { ...PLACE, delta: 'word ', logprobs: [] })),
  event('response.output_text.done', { ...PLACE, text: TEXT, logprobs: [] }),
  event('response.content_part.done', { ...PLACE, part: spoken }),
  event('response.output_item.done', { output_index: 0, item: message('completed', [spoken]) }),
].map((text) => Buffer.from(text));
let responses = 0;

/** As large as a provider's response: a real image of 1024 x 1024. */
const IMAGE = await noisePng(1024);
const IMAGE_USAGE = {
  input_tokens: 12,
  input_tokens_details: { text_tokens: 12, image_tokens: 0 },
  output_tokens: 4160,
  total_tokens: 4172,
};
const imageAnswer = (image) =>
  Buffer.from(JSON.stringify({ created: HEAD.created, data: [image], usage: IMAGE_USAGE }));
const INLINE = imageAnswer({ b64_json: IMAGE.toString('base64') });
/** An empty line, then the first bytes of a PNG. */
const PNG_START = Buffer.concat([Buffer.from('\r\n\r\n'), Buffer.from([0x89, 0x50, 0x4e, 0x47])]);
let link;
let latencyMs = 0;
let ledger = newLedger();

const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const { pathname, searchParams } = new URL(request.url, 'http://provider');
    const body = Buffer.concat(chunks);
    if (pathname === '/v1/chat/completions') chat(response, body);
    else if (pathname === '/v1/responses') respond(response, body);
    else if (pathname.startsWith('/v1/images/')) void image(response, body);
    else if (pathname === '/image.png') send(response, 'image/png', IMAGE);
    else if (pathname === '/latency') {
      latencyMs = Number(searchParams.get('ms'));
      ledger = newLedger();
      response.end();
    } else if (pathname === '/ledger') send(response, 'application/json', JSON.stringify(told()));
    else response.writeHead(404).end();
  });
});
server.listen(Number(process.env.PORT), '127.0.0.1', () => {
  link = imageAnswer({ url: `http://127.0.0.1:${process.env.PORT}/image.png` });
  process.stdout.write('ready\n');
});
process.on('SIGTERM', () => process.exit());

function send(response, type, body) {
  response.writeHead(200, { 'content-type': type, 'content-length': body.length }).end(body);
}

function chat(response, body) {
  if (body.includes('"stream":true')) stream(response, body.includes('"include_usage":true'));
  else send(response, 'application/json', WHOLE);
}

/** Each response has an id of its own, as the rows of stored ones do. */
function respond(response, body) {
  const id = `resp_bench_${process.pid}_${++responses}`;
  const begun = { status: 'in_progress' };
  const whole = responseOf(id, { output: [message('completed', [spoken])], usage: RESPONSE_USAGE });
  if (!body.includes('"stream":true')) return send(response, 'application/json', Buffer.from(JSON.stringify(whole)));
  const said = (type, state) => event(type, { response: state });
  write(response, [
    said('response.created', responseOf(id, begun)),
    said('response.in_progress', responseOf(id, begun)),
    ...SPEAKING,
    said('response.completed', whole),
  ]);
}

/** Prompts of calls that must not be lost contain `n-<number>`; a call is paid when it starts. */
async function image(response, body) {
  const [, number] = /\bn-(\d+)\b/.exec(body.subarray(0, 2_000).toString('latin1')) ?? [];
  if (number !== undefined) ledger.calls.set(number, (ledger.calls.get(number) ?? 0) + 1);
  if (body.length > 1e6) ledger.upload = body;
  ledger.inFlight += 1;
  if (latencyMs > 0) await delay(latencyMs);
  ledger.inFlight -= 1;
  send(response, 'application/json', body.subarray(0, 2_000).includes('"response_format":"url"') ? link : INLINE);
}

function newLedger() {
  return { calls: new Map(), inFlight: 0, upload: undefined };
}

/** `uploads`: digests of the files in the last long body, as they arrived. */
function told() {
  const counts = [...ledger.calls.values()];
  return {
    inFlight: ledger.inFlight,
    distinct: counts.length,
    paid: counts.reduce((sum, count) => sum + count, 0),
    uploads: ledger.upload === undefined ? [] : filesOf(ledger.upload).map(sha256),
  };
}

/** The PNGs of a multipart body. */
function filesOf(body) {
  const boundary = body.subarray(0, body.indexOf('\r\n'));
  const files = [];
  for (let at = 0; (at = body.indexOf(PNG_START, at)) !== -1;) {
    const end = body.indexOf(Buffer.concat([Buffer.from('\r\n'), boundary]), at);
    if (end === -1) break;
    files.push(body.subarray(at + 4, end));
    at = end;
  }
  return files;
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex');
}

function stream(response, counted) {
  write(response, [...Array(PIECES).fill(word), last, ...(counted ? [count] : []), END]);
}

/** Writes each piece separately, in its own turn of the event loop. */
function write(response, pieces) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const next = (index) => {
    if (response.destroyed) return;
    response.write(pieces[index]);
    if (index + 1 < pieces.length) setImmediate(next, index + 1);
    else response.end();
  };
  next(0);
}
