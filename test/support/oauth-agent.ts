import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type OAuthClientProvider,
} from '@modelcontextprotocol/client';

/** Where a client on this machine listens for its user's return; nothing does in tests. */
export const RETURN_TO = 'http://127.0.0.1:3118/callback';
export const CLIENT_NAME = 'Test Agent';

type Stored<Name extends 'clientInformation' | 'tokens'> = Exclude<
  Awaited<ReturnType<OAuthClientProvider[Name]>>,
  undefined
>;

/** What the official client keeps of an authorization, and where it has sent its user. */
export class AgentMemory implements OAuthClientProvider {
  /** The page that the user is sent to. */
  page: URL | undefined;
  private client: Stored<'clientInformation'> | undefined;
  private issued: Stored<'tokens'> | undefined;
  private verifier = '';
  private discovered: Awaited<ReturnType<NonNullable<OAuthClientProvider['discoveryState']>>>;

  readonly redirectUrl = RETURN_TO;
  readonly clientMetadata = { client_name: CLIENT_NAME, redirect_uris: [RETURN_TO] };
  readonly state = (): string => 'state of the agent';
  readonly clientInformation = () => this.client;
  readonly saveClientInformation = (client: Stored<'clientInformation'>): void => {
    this.client = client;
  };
  readonly tokens = () => this.issued;
  readonly saveTokens = (tokens: Stored<'tokens'>): void => {
    this.issued = tokens;
  };
  readonly redirectToAuthorization = (page: URL): void => {
    this.page = page;
  };
  readonly saveCodeVerifier = (verifier: string): void => {
    this.verifier = verifier;
  };
  readonly codeVerifier = (): string => this.verifier;
  readonly discoveryState = () => this.discovered;
  readonly saveDiscoveryState = (state: NonNullable<typeof this.discovered>): void => {
    this.discovered = state;
  };
}

/** Connects the official client; undefined while its user has to authorize it first. */
export async function connectAgent(url: string, memory: AgentMemory): Promise<Client | undefined> {
  const client = new Client({ name: CLIENT_NAME, version: '1' });
  try {
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider: memory }));
    return client;
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error;
    return undefined;
  }
}

/** Has the client exchange what its user came back with. Throws when the service refuses. */
export async function finishAgent(url: string, memory: AgentMemory, cameBackTo: string): Promise<void> {
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { authProvider: memory });
  await transport.finishAuth(new URL(cameBackTo).searchParams);
}
