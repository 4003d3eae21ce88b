/** A response of OpenAI's, with what `fields` change. It repeats the caller's tools, as theirs do. */
export function responseOf(fields: object = {}): object {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: 'completed',
    error: null,
    incomplete_details: null,
    instructions: null,
    model: 'up',
    output: [messageOf('Here you are.')],
    parallel_tool_calls: true,
    previous_response_id: null,
    store: true,
    tools: [],
    usage: RESPONSE_USAGE,
    user: null,
    metadata: {},
    ...fields,
  };
}

export const RESPONSE_USAGE = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 2 },
  total_tokens: 18,
};

/** A message of the model, as an item of `output`. */
function messageOf(text: string): object {
  return {
    id: 'msg_1',
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
  };
}

/** One event of a streamed response, with its name. */
function namedEvent(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/** The events of a response whose output is one item, a message by default. */
export function responseEvents(response: object = responseOf()): string[] {
  const { output } = response as { output: { id: string; type: string; content?: { text: string }[] }[] };
  const begun = { ...response, status: 'in_progress', output: [], usage: null };
  const items = output.flatMap((item, output_index) => {
    const place = { item_id: item.id, output_index };
    const part = item.content?.[0];
    return [
      namedEvent('response.output_item.added', {
        output_index,
        item: { ...item, status: 'in_progress', ...(part === undefined ? {} : { content: [] }) },
      }),
      ...(part === undefined ? argumentEvents(item, place) : textEvents(part, { ...place, content_index: 0 })),
      namedEvent('response.output_item.done', { output_index, item }),
    ];
  });
  return [
    namedEvent('response.created', { response: begun }),
    namedEvent('response.in_progress', { response: begun }),
    ...items,
    namedEvent('response.completed', { response }),
  ];
}

function textEvents(part: { readonly text: string }, place: object): string[] {
  return [
    namedEvent('response.content_part.added', { ...place, part: { ...part, text: '' } }),
    ...part.text.split(/(?<= )/).map((delta) => namedEvent('response.output_text.delta', { ...place, delta })),
    namedEvent('response.output_text.done', { ...place, text: part.text }),
    namedEvent('response.content_part.done', { ...place, part }),
  ];
}

function argumentEvents(item: object, place: object): string[] {
  const { arguments: text } = item as { arguments?: string };
  return text === undefined
    ? []
    : [
        namedEvent('response.function_call_arguments.delta', { ...place, delta: text }),
        namedEvent('response.function_call_arguments.done', { ...place, arguments: text }),
      ];
}
