import { Client, StreamableHTTPClientTransport, type CallToolResult } from '@modelcontextprotocol/client';
import { patient } from './patience.js';

/** Where an MCP client connects. */
export interface McpServer {
  /** Without `/mcp`. */
  readonly url: string;
  readonly key: string;
}

/** The official client, connected with either of the two generations of the protocol. */
export async function mcpClient({ url, key }: McpServer, era: 'legacy' | 'modern' = 'legacy'): Promise<Client> {
  const negotiation = era === 'legacy' ? {} : { versionNegotiation: { mode: { pin: '2026-07-28' } } };
  const client = new Client({ name: 'darkroom-test', version: '1' }, negotiation);
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit, fetch: fetchInContext }),
  );
  return client;
}

/** Objects that `json()` makes are of another context than Jest's, and the extension takes them for none. */
async function fetchInContext(url: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const json = async (): Promise<unknown> => JSON.parse(await response.text()) as unknown;
  return Object.defineProperty(response, 'json', { value: json });
}

/** What a tool has answered. */
export interface ToolAnswer {
  readonly isError: boolean;
  /** All texts. */
  readonly text: string;
  readonly facts: Facts;
  readonly links: readonly string[];
  readonly images: readonly { readonly bytes: Buffer; readonly mimeType: string }[];
}

interface Facts {
  readonly id?: string;
  readonly status?: string;
  readonly attached?: boolean;
  readonly images?: readonly { readonly url: string; readonly size: string; readonly content_type: string }[];
  readonly price?: { readonly amount: string; readonly state: string };
  readonly error?: { readonly code: string; readonly param: string | null; readonly message: string };
  readonly [name: string]: unknown;
}

interface CallOptions {
  readonly onprogress?: (progress: { readonly progress: number }) => void;
}

/** Calls a tool as an agent's client does. */
export async function callTool(
  client: Client,
  name: string,
  args: Readonly<Record<string, unknown>>,
  options: CallOptions = {},
): Promise<ToolAnswer> {
  return answerOf(await client.callTool({ name, arguments: args }, { timeout: patient(60_000), ...options }));
}

/** Reads the result of a tool. */
export function answerOf({ content, isError, structuredContent }: CallToolResult): ToolAnswer {
  return {
    isError: isError === true,
    text: content.flatMap((one) => (one.type === 'text' ? [one.text] : [])).join('\n'),
    facts: (structuredContent ?? {}) as Facts,
    links: content.flatMap((one) => (one.type === 'resource_link' ? [one.uri] : [])),
    images: content.flatMap((one) =>
      one.type === 'image' ? [{ bytes: Buffer.from(one.data, 'base64'), mimeType: one.mimeType }] : [],
    ),
  };
}
