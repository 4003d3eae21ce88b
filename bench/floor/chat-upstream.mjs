// A provider of chat that answers at once: what is left of a call is what lies in between. Always the same bytes.
import { createServer } from 'node:http';

const PIECES = 20;
const USAGE = { prompt_tokens: 12, completion_tokens: PIECES, total_tokens: 12 + PIECES };
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
    usage: USAGE,
  }),
);
const piece = (fields) =>
  Buffer.from(`data: ${JSON.stringify({ ...HEAD, object: 'chat.completion.chunk', ...fields })}\n\n`);
const word = piece({ choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }], usage: null });
const last = piece({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: null });
const count = piece({ choices: [], usage: USAGE });
const END = Buffer.from('data: [DONE]\n\n');

const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    if (body.includes('"stream":true')) stream(response, body.includes('"include_usage":true'));
    else response.writeHead(200, { 'content-type': 'application/json', 'content-length': WHOLE.length }).end(WHOLE);
  });
});
server.listen(Number(process.env.PORT), '127.0.0.1', () => process.stdout.write('ready\n'));
process.on('SIGTERM', () => process.exit());

/** Each piece is a write of its own, with a turn of the event loop in between. */
function stream(response, counted) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const pieces = [...Array(PIECES).fill(word), last, ...(counted ? [count] : []), END];
  const next = (index) => {
    if (response.destroyed) return;
    response.write(pieces[index]);
    if (index + 1 < pieces.length) setImmediate(next, index + 1);
    else response.end();
  };
  next(0);
}
