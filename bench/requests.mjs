import { requestText } from './socket-caller.mjs';

/** The load generator replaces this with the number of the call. */
export const NUMBER = '#0000000';
const PROMPT = `A lighthouse at dawn, soft pink clouds over a quiet sea, painted in watercolor, ${NUMBER}`;

/**
 * A generation with a typical prompt and default options. No two are equal, as those of users are not: one that equals
 * what another API process, such as that of the measure before, answered lately has to find out whether it repeats it.
 */
export function generation(apiKey, { asynchronous = false, ...fields } = {}) {
  return requestText({
    method: 'POST',
    path: `/v1/images/generations${asynchronous ? '/async' : ''}`,
    apiKey,
    body: { model: 'gpt-image-2', prompt: PROMPT, size: 'auto', ...fields },
  });
}

export function poll(apiKey, taskId) {
  return requestText({ method: 'GET', path: `/v1/tasks/${taskId}`, apiKey });
}

/** An order of an MCP client that knows the Tasks extension. */
export function toolCall(apiKey) {
  const name = 'generate_image';
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  };
  const params = { name, arguments: { prompt: PROMPT, size: 'auto' }, _meta: meta };
  return requestText({
    method: 'POST',
    path: '/mcp',
    apiKey,
    headers: {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
  });
}
