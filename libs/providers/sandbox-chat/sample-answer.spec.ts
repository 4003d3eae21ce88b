import { readMessages, sampleChoices } from './sample-answer.js';
import { sampleJson } from './sample-value.js';

/** An object in an object, `depth` times; each names its member `times` times as required. */
function nested(depth: number, times: number): object {
  if (depth === 0) return { type: 'string' };
  const required = Array.from({ length: times }, () => 'a');
  return { type: 'object', properties: { a: nested(depth - 1, times) }, required };
}

describe('samples of the sandbox for hostile chats', () => {
  it('make a member once, however often a schema requires it', () => {
    expect(JSON.parse(sampleJson(nested(3, 50)))).toEqual({ a: { a: { a: 'sample' } } });
    // Every level multiplied the work: this would take years.
    expect(sampleJson(nested(8, 500))).toBe(`${'{"a":'.repeat(8)}"sample"${'}'.repeat(8)}`);
  });

  it('are short, whatever a schema contains', () => {
    expect(sampleJson({ const: 'x'.repeat(100_000) })).toBe('null');
    expect(sampleJson(undefined)).toBe('null');
    expect(sampleJson({ enum: [] })).toBe('null');
  });

  it('quote only the start of what a tool said, in every choice', () => {
    const said = readMessages([
      { role: 'user', content: 'hi' },
      { role: 'tool', content: 'zy'.repeat(250_000) },
    ]);
    const choices = sampleChoices({ n: 8 }, said, 'hi');
    expect(choices).toHaveLength(8);
    expect(Math.max(...choices.map(({ content }) => content?.length ?? 0))).toBeLessThan(5_000);
  });

  it('know as many stops and tools as OpenAI, and ignore the rest', () => {
    const said = readMessages([{ role: 'user', content: 'call tool_200' }]);
    const stop = ['1', '2', '3', '4', 'SANDBOX'];
    expect(sampleChoices({ stop }, said, 'hi')[0]?.content).toMatch(/^SANDBOX SAMPLE/);
    expect(sampleChoices({ stop: stop.slice(1) }, said, 'hi')[0]?.content).toBe('');
    const tools = Array.from({ length: 201 }, (_, index) => ({ function: { name: `tool_${index}` } }));
    expect(sampleChoices({ tools: tools.slice(100) }, said, 'call tool_200')[0]?.toolCalls).toHaveLength(1);
    expect(sampleChoices({ tools }, said, 'call tool_200')[0]?.toolCalls?.[0]?.function.name).not.toBe('tool_200');
  });

  it('call a tool without a schema with an empty object', () => {
    const said = readMessages([{ role: 'user', content: 'hi' }]);
    const fields = { tools: [{ function: { name: 'look' } }], tool_choice: 'required' };
    expect(sampleChoices(fields, said, 'hi')[0]?.toolCalls?.[0]?.function).toEqual({ name: 'look', arguments: '{}' });
  });
});
