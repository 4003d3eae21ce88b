import { readFileSync } from 'node:fs';
import { startPlatform, type Platform } from '../support/platform.js';

interface Message {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: { readonly method: string; readonly id?: number };
  /** What it was answered with when it was recorded. */
  readonly status: number;
}
interface Recording {
  readonly client: string;
  readonly messages: readonly Message[];
}

/**
 * What the published client sent to `/mcp` when it was told to generate an image, in a session with a model that was a
 * script; without the key.
 */
const { client, messages } = JSON.parse(readFileSync('test/support/claude-code-session.json', 'utf8')) as Recording;

describe(`a recorded session of ${client}`, () => {
  let platform: Platform;
  beforeAll(async () => {
    platform = await startPlatform();
  });
  afterAll(() => platform.close());

  /** The response to a message; progress comes before it. */
  const responseIn = (text: string, id: number): unknown =>
    [...text.matchAll(/^data: (.*)$/gm)]
      .map(([, data = '']) => JSON.parse(data) as { readonly id?: number })
      .find((message) => message.id === id);

  it('gets its image', async () => {
    const answers = new Map<string, unknown>();
    for (const { method, headers, body, status } of messages) {
      const response = await platform.call('/mcp', { method, headers, ...(body !== undefined && { body }) });
      const text = await response.text();
      expect([method, body?.method, response.status]).toEqual([method, body?.method, status]);
      if (body?.id !== undefined) answers.set(body.method, responseIn(text, body.id));
    }
    expect(answers.get('initialize')).toMatchObject({ result: { serverInfo: { name: 'darkroom' } } });
    expect(answers.get('tools/list')).toMatchObject({
      result: { tools: [{ name: 'generate_image' }, {}, {}, {}, {}, {}] },
    });
    expect(answers.get('tools/call')).toMatchObject({
      result: {
        structuredContent: { status: 'completed' },
        content: [{ type: 'text' }, { type: 'resource_link' }, { type: 'image' }],
      },
    });
  });
});
