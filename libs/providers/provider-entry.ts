/** A credential of a provider. `name` identifies it in logs and timelines. */
export interface ProviderKey {
  readonly name: string;
  readonly secret: string;
}

/** One server that a provider's calls go to, and the limits of its use. An adapter is made for a server and a key. */
export interface ProviderEntry {
  /** Its provider's name. */
  readonly name: string;
  /** Its own name among its provider's equal servers; absent: the provider is a single server without a name. */
  readonly server?: string | undefined;
  /** Where it generates, in the operator's words, such as `eu`. */
  readonly region?: string | undefined;
  /** A key of `DESCRIPTORS`. */
  readonly type: string;
  /** Without a trailing slash; absent if the type needs none. */
  readonly baseUrl: string | undefined;
  readonly keys: readonly ProviderKey[];
  readonly limits: {
    /** Concurrent calls of all workers together. */
    readonly concurrency: number | undefined;
    /** Calls that all workers together may start per minute. */
    readonly startsPerMinute: number | undefined;
  };
  /** Whether to fail or retry a task whose call may have been charged without returning an image. */
  readonly interrupted: 'fail' | 'retry';
  /** Whether no call is ever charged. */
  readonly free: boolean;
  /** Options of its type. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** A provider: what is the same for all of its servers, of which it has at least one. */
export interface Provider extends Pick<ProviderEntry, 'name' | 'type' | 'interrupted' | 'free' | 'options'> {
  readonly servers: readonly ProviderEntry[];
  /** What its webhooks about end users are signed with; absent: it sends none. */
  readonly webhookSecret?: string | undefined;
}

/** The provider that consists of this server alone. */
export function soleServer(entry: ProviderEntry): Provider {
  const { name, type, interrupted, free, options } = entry;
  return { name, type, interrupted, free, options, servers: [entry] };
}

/** Identifies a server in the limiter, switches, metrics, and logs: `azure/sweden`, or the name of its provider. */
export function serverId({ name, server }: Pick<ProviderEntry, 'name' | 'server'>): string {
  return server === undefined ? name : `${name}/${server}`;
}

/** What metrics call a server; a provider without a list of servers has no server to name. */
export function serverLabels({ name, server }: Pick<ProviderEntry, 'name' | 'server'>): {
  readonly provider: string;
  readonly server?: string;
} {
  return { provider: name, ...(server !== undefined && { server }) };
}

/**
 * The provider's server of this name. A call recorded before its provider had a list of servers names none, so it means
 * the first one.
 */
export function serverOf({ servers }: Provider, name: string | undefined): ProviderEntry | undefined {
  return name === undefined ? servers[0] : servers.find(({ server }) => server === name);
}
