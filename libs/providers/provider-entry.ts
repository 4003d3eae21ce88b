/** A credential of a provider. `name` is what logs and timelines call it. */
export interface ProviderKey {
  readonly name: string;
  readonly secret: string;
}

/** A vendor, or one server of a kind, and how it may be used. */
export interface ProviderEntry {
  readonly name: string;
  /** One of the names in `descriptors.ts`. */
  readonly type: string;
  /** Without a trailing slash; absent where the type needs none. */
  readonly baseUrl: string | undefined;
  readonly keys: readonly ProviderKey[];
  readonly limits: {
    /** Calls at a time, of all workers together. */
    readonly concurrency: number | undefined;
    /** Calls begun in a minute, by all workers together. */
    readonly startsPerMinute: number | undefined;
  };
  /** What becomes of a task whose call may have been charged without bringing an image. */
  readonly interrupted: 'fail' | 'retry';
  /** Whether no call is ever charged. */
  readonly free: boolean;
  /** What only its type knows. */
  readonly options: Readonly<Record<string, unknown>>;
}
