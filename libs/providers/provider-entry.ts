/** A credential of a provider. `name` identifies it in logs and timelines. */
export interface ProviderKey {
  readonly name: string;
  readonly secret: string;
}

/** A vendor or a server, and the limits of its use. */
export interface ProviderEntry {
  readonly name: string;
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
