/** What the console API answers and takes. Times are ISO 8601 texts, except in a timeline: unix seconds, as in the public API. */

export interface Session {
  readonly person: {
    readonly id: string;
    readonly email: string;
    readonly name: string;
    readonly role: Role;
    /** Has a password. */
    readonly password: boolean;
    /** Is known at the OpenID Connect provider. */
    readonly oidc: boolean;
  };
  readonly account: { readonly id: string; readonly name: string };
  /** Looks after the whole installation. */
  readonly operator: boolean;
  /** What the installation counts money in: an ISO 4217 code. */
  readonly currency: string;
}
/** One of a person's sessions. */
export interface SignedIn {
  readonly id: string;
  readonly current: boolean;
  readonly user_agent: string | null;
  readonly created_at: string;
  readonly last_seen_at: string;
}
export type Role = 'admin' | 'member';

export interface SignInState {
  readonly first_run: boolean;
  /** One may sign in with a password. */
  readonly password: boolean;
  /** The OpenID Connect provider; the address is where a browser goes to begin. */
  readonly oidc: { readonly name: string; readonly url: string } | null;
}

export interface Page<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
  /** What `after` takes for the page that follows. */
  readonly next?: string | null;
}

export interface TaskPage extends Page<TaskRow> {
  /** How far back a search looked before it stopped without having found enough; null when it did not. */
  readonly searched_until: string | null;
}

export interface Money {
  /** Decimal text; null when the price is not known. */
  readonly amount: string | null;
  readonly currency: string;
  readonly state?: 'reserved' | 'settled' | 'refunded' | 'unpriced';
}

export type KeyScope = 'images' | 'tasks' | 'chat';
export type BudgetPeriod = 'month' | 'total';

export interface ApiKey {
  readonly id: string;
  readonly name: string;
  /** The first characters of the secret, which is shown once only. */
  readonly prefix: string;
  /** Empty: every model. */
  readonly models: readonly string[];
  /** What it may be used for; empty: everything. */
  readonly scopes: readonly KeyScope[];
  readonly weight: number;
  /** Null: as the deployment sets it; 0: any number. */
  readonly submits_per_minute: number | null;
  readonly polls_per_minute: number | null;
  readonly tasks_in_flight: number | null;
  readonly default_response_format: 'url' | 'b64_json' | null;
  readonly allow_pixel_size: boolean;
  readonly submit_mode: 'sync' | 'apimart';
  readonly budget: { readonly amount: string; readonly period: BudgetPeriod; readonly spent: string } | null;
  readonly created_at: string;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly last_used_at: string | null;
  readonly spend: Money | null;
}

export interface KeySettings {
  readonly name: string;
  readonly models: readonly string[];
  /** What it may be used for; empty: everything. */
  readonly scopes: readonly KeyScope[];
  readonly weight: number;
  readonly submits_per_minute: number | null;
  readonly polls_per_minute: number | null;
  readonly tasks_in_flight: number | null;
  readonly budget: string | null;
  readonly budget_period: BudgetPeriod;
  readonly expires_at: string | null;
  readonly default_response_format: 'url' | 'b64_json' | null;
  readonly allow_pixel_size: boolean;
  readonly submit_mode: 'sync' | 'apimart';
}

export interface NewKey {
  readonly key: ApiKey;
  readonly secret: string;
}

export interface ImageModel {
  readonly id: string;
  readonly capabilities: {
    readonly sizes?: readonly string[];
    readonly resolutions?: readonly string[];
    readonly edits?: boolean;
    readonly masks?: boolean;
  };
  readonly limits?: { readonly images?: number };
}

export type TaskStatus = 'pending' | 'completed' | 'failed' | 'cancelled';
export type TaskPhase = 'queued' | 'running' | 'storing' | 'done';

export interface TaskRow {
  readonly id: string;
  readonly status: TaskStatus;
  readonly phase: TaskPhase;
  readonly action: 'generation' | 'edit';
  readonly model: string;
  readonly size: string;
  readonly resolution: string | null;
  /** In lists its first 200 characters. */
  readonly prompt: string;
  readonly key: { readonly id: string; readonly name: string };
  readonly created_at: string;
  readonly finished_at: string | null;
  readonly thumbnail_url: string | null;
  /** Null while its pictures are kept. */
  readonly pictures_deleted_at: string | null;
  readonly cost: Money | null;
}

export interface TaskDetail extends TaskRow {
  readonly progress: number;
  readonly options?: Readonly<Record<string, unknown>>;
  readonly queue_position?: number;
  /** Seconds from acceptance to the end. */
  readonly estimated_time?: number;
  readonly sizes?: { readonly requested: string; readonly sent: string; readonly received: string };
  /** How many images it was made from. */
  readonly reference_images: number;
  readonly masked: boolean;
  readonly images: readonly { readonly url: string; readonly size: string; readonly content_type: string }[];
  readonly warnings?: readonly string[];
  readonly error?: ErrorDetail | null;
  readonly request_id?: string;
  /** The failed task that an operator re-drove as this one. */
  readonly redrive_of?: string | null;
  /** The task that this failed one was re-driven as. */
  readonly redriven_as?: string | null;
  readonly timeline?: readonly TimelineEvent[];
  readonly webhook_deliveries?: readonly Delivery[];
}

export interface TimelineEvent {
  readonly event: 'accepted' | 'started' | 'provider_call' | 'completed' | 'failed' | 'cancelled';
  readonly at: number;
  readonly provider?: string;
  readonly key?: string | null;
  readonly model?: string;
  readonly upstream_id?: string;
  readonly ended?: number;
  readonly outcome?: 'running' | 'succeeded' | 'failed' | 'not_called' | 'unknown';
  readonly code?: string;
  readonly charged?: 'no' | 'maybe' | 'yes';
  readonly cost?: Money;
}

export interface Delivery {
  readonly id: string;
  /** Null: the endpoint was removed. */
  readonly url: string | null;
  readonly status: string;
  readonly attempts: number;
  readonly last_status: number | null;
  readonly created_at: string;
  readonly delivered_at: string | null;
}

export interface PartialPicture {
  readonly index: number;
  readonly b64_json: string;
  readonly output_format: string;
}

export interface PictureRequest {
  readonly model: string;
  readonly prompt: string;
  readonly size: string;
  readonly resolution: string;
  readonly quality: string;
}

export interface UsageRow {
  readonly time: string;
  /** Null: no provider was called. */
  readonly group: string | null;
  readonly pictures: number;
  readonly failed: number;
  /** Decimal text. */
  readonly spend: string;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
}

export interface Usage {
  readonly data: readonly UsageRow[];
  readonly currency: string;
}

export interface ErrorDetail {
  readonly type: string;
  readonly code: string | null;
  readonly message: string;
  readonly param: string | null;
}
