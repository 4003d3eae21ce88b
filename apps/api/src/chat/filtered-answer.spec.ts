import { FilteredAnswer } from './filtered-answer.js';

function found(text: string, pieceBytes: number): boolean {
  const search = new FilteredAnswer();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) search.push(bytes.subarray(at, at + pieceBytes));
  return search.found;
}

const LONG = 'a boat '.repeat(2_000);

describe.each([1, 7, 100, 10_000_000])('an answer that arrives in pieces of %s bytes', (pieceBytes) => {
  it.each([
    `{"choices":[{"message":{"content":"${LONG}"},"finish_reason":"content_filter"}],"usage":{}}`,
    `data: {"choices":[{"index":0,"delta":{},"finish_reason": "content_filter"}]}\n\ndata: [DONE]\n\n`,
    `{"object":"response","status":"incomplete","incomplete_details" : { "reason" : "content_filter" },"output":"${LONG}"}`,
  ])('was stopped for its content: %.60s', (text) => {
    expect(found(text, pieceBytes)).toBe(true);
  });

  it.each([
    `{"choices":[{"message":{"content":"${LONG}"},"finish_reason":"stop"}]}`,
    `{"choices":[{"message":{"content":"say \\"finish_reason\\":\\"content_filter\\""},"finish_reason":"stop"}]}`,
    `{"choices":[{"content_filter_results":{"hate":{"filtered":false}},"finish_reason":"stop"}]}`,
    `{"object":"response","incomplete_details":{"reason":"max_output_tokens"},"metadata":{"reason":"content_filter"}}`,
  ])('was not: %.60s', (text) => {
    expect(found(text, pieceBytes)).toBe(false);
  });
});
