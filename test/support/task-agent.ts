import { createTaskSessionFromClient, resultFromTaskOutcome } from '@modelcontextprotocol/ext-tasks/client';
import { waitUntil } from '#embedded/wait-until.js';
import { answerOf, mcpClient, type McpServer, type ToolAnswer } from './mcp-client.js';
import { patient } from './patience.js';

const VERSION = '2026-07-28';
const CLIENT_INFO = { name: 'darkroom-test', version: '1' };
const CAPABILITIES = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

interface JsonRpcAnswer {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: { readonly code: string } };
}

/**
 * An agent with the official client and the requester of the Tasks extension. A message whose answer is lost, or that the
 * service turns away for now, is sent again.
 */
export async function taskAgent(server: McpServer) {
  const client = await mcpClient(server, 'modern');
  const session = createTaskSessionFromClient(client, {
    endpointId: 'darkroom',
    rawDispatch: async (request) => {
      const { method, params } = request as unknown as { method: string; params: Readonly<Record<string, unknown>> };
      const { result, error } = await persistently(server, method, params);
      return error === undefined
        ? { kind: 'result', result: (result ?? {}) as never }
        : { kind: 'error', error: error };
    },
    v2RequestFraming: { protocolVersion: VERSION, clientInfo: CLIENT_INFO, clientCapabilities: CAPABILITIES },
  });
  return {
    /** Orders an image, and returns how to get it once it is ready. Throws when it was not answered with a task. */
    async order(args: Readonly<Record<string, unknown>>): Promise<{ id: string; image: () => Promise<ToolAnswer> }> {
      const execution = await session.callTool('generate_image', args as never, {
        requestTimeoutMs: patient(150_000),
      });
      if (execution.kind !== 'task') throw new Error(`it was answered with a ${execution.kind}`);
      const image = async (): Promise<ToolAnswer> =>
        answerOf(resultFromTaskOutcome((await execution.settle()).outcome) as Parameters<typeof answerOf>[0]);
      return { id: execution.handle.taskId, image };
    },
    async close(): Promise<void> {
      await session.close();
      await client.close();
    },
  };
}

async function persistently(
  server: McpServer,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<JsonRpcAnswer> {
  let answer: JsonRpcAnswer | undefined;
  const isAnswered = async (): Promise<boolean> => {
    answer = await send(server, method, params).catch(() => undefined);
    return answer !== undefined;
  };
  if (!(await waitUntil(isAnswered, { timeoutMs: 120_000, everyMs: 200 }))) throw new Error(`${method} has no answer`);
  return answer as JsonRpcAnswer;
}

/** One message of the protocol, as it is on the wire; undefined when the service turns it away for now. */
async function send(
  { url, key }: McpServer,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<JsonRpcAnswer | undefined> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientInfo': CLIENT_INFO,
    'io.modelcontextprotocol/clientCapabilities': CAPABILITIES,
  };
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      'mcp-name': String(params['taskId'] ?? params['name']),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
    signal: AbortSignal.timeout(patient(30_000)),
  });
  // Not `json()`, whose objects the extension's schemas take for none: they are made outside of the test's context.
  const answer = JSON.parse(await response.text()) as JsonRpcAnswer;
  return codeOf(answer) === 'server_is_overloaded' || response.status === 503 ? undefined : answer;
}

/** The code of an error that a tool, or another method, was answered with. */
function codeOf({ result, error }: JsonRpcAnswer): string | undefined {
  const facts = result?.['structuredContent'] as { readonly error?: { readonly code: string } } | undefined;
  return facts?.error?.code ?? error?.data?.code;
}
