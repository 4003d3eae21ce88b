// Generated from console-openapi.json by node scripts/console-types.mjs: change the classes of the console API instead.
export interface components {
  schemas: {
    readonly ErrorDetailView: {
      /** @example invalid_request_error */
      readonly type: string;
      /** @example invalid_value */
      readonly code: string | null;
      /** @example size */
      readonly param: string | null;
      /** @example size must be one of auto, 1:1, 3:2, ... */
      readonly message: string;
      /** @description The task that was accepted before the error. */
      readonly task_id?: string;
    };
    readonly ErrorResponse: {
      /** @enum {string} */
      readonly type: 'error';
      readonly error: components['schemas']['ErrorDetailView'];
      /**
       * @description Same as the x-request-id header.
       * @example req_01JD0Z8Q4M0W3E5V6T7R8Y9X0A
       */
      readonly request_id: string;
      /** @description The HTTP status, on /v1/tasks only. */
      readonly code?: number;
    };
    readonly ImageGenerationRequest: {
      /**
       * @description Resolution tier; case does not matter. Ignored when `size` is in pixels.
       * @default 2k
       * @enum {string|null}
       */
      readonly resolution?: '1k' | '2k' | '4k' | null;
      /**
       * @description Number of images.
       * @default 1
       */
      readonly n?: number | null;
      /**
       * @description Whether the image comes as a link or in the body. Absent: both, unless the deployment or the API key has another default.
       * @enum {string|null}
       */
      readonly response_format?: 'url' | 'b64_json' | null;
      /**
       * @description `transparent` needs output_format png or webp.
       * @enum {string|null}
       */
      readonly background?: 'transparent' | 'opaque' | 'auto' | null;
      /** @enum {string|null} */
      readonly moderation?: 'low' | 'auto' | null;
      /**
       * @default png
       * @enum {string|null}
       */
      readonly output_format?: 'png' | 'jpeg' | 'webp' | null;
      /**
       * @description For jpeg and webp.
       * @default 100
       */
      readonly output_compression?: number | null;
      /** @description The caller's own name for its end user. */
      readonly user?: string | null;
      /** @description A stable name for the end user, such as a hash, for providers that watch for abuse. */
      readonly safety_identifier?: string | null;
      /**
       * @description Answer with server-sent events. Images come as base64; not for asynchronous calls.
       * @default false
       */
      readonly stream?: boolean | null;
      /**
       * @description Most partial images to stream. Has no effect without `stream`.
       * @default 0
       */
      readonly partial_images?: number | null;
      /**
       * @description `true`: refuse (400) what would have to be adapted or ignored, and fail a task whose image had to be, instead of listing it in `warnings`.
       * @default false
       */
      readonly strict?: boolean | null;
      /**
       * @description An image model of GET /v1/models.
       * @example gpt-image-2
       */
      readonly model: string;
      /** @description Counted in Unicode code points. */
      readonly prompt: string;
      /**
       * @description An aspect ratio, in pixels as `resolution` says; `auto` leaves it to the model; or exactly these pixels: edges 64 to 3840, ratio <= 3:1, at most 8,294,400 pixels. What the model cannot make itself is fitted from its next larger size.
       * @default 1:1
       * @example 1024x1024
       */
      readonly size?: string | null;
      /** @description Reference images: http(s) URLs or base64 data URIs of PNG, JPEG or WebP images. */
      readonly image_urls?: readonly string[] | null;
      /**
       * @default auto
       * @enum {string|null}
       */
      readonly quality?: 'standard' | 'hd' | 'low' | 'medium' | 'high' | 'auto' | null;
    };
    readonly TaskSizesView: {
      /**
       * @description What the request stands for, or `auto`.
       * @example 2048x1152
       */
      readonly requested: string;
      /**
       * @description What the provider was asked for, or `auto`.
       * @example 2048x1152
       */
      readonly sent: string;
      /**
       * @description What it sent, measured before it was fitted.
       * @example 1536x1024
       */
      readonly received: string;
    };
    readonly TaskErrorView: {
      readonly type: string;
      readonly code: string | null;
      readonly message: string;
      readonly param: string | null;
      /** @description What the sync endpoint would have answered. */
      readonly http_status: number;
    };
    readonly TaskEventView: {
      /** @enum {string} */
      readonly event: 'accepted' | 'started' | 'provider_call' | 'completed' | 'failed' | 'cancelled';
      /** @example 1795233600.125 */
      readonly at: number;
      /** @description Calls only, as all that follows: the provider, as the operator calls it. */
      readonly provider?: string;
      /** @description The key's name; null where there is none. */
      readonly key?: string | null;
      /** @description The provider's name of the model. */
      readonly model?: string;
      /** @description The provider's own id of the job, once it has told one. */
      readonly upstream_id?: string;
      /** @description Absent while the call runs, and when its end is unknown. */
      readonly ended?: number;
      /**
       * @description `not_called`: written down but not made. `unknown`: it was cut short.
       * @enum {string}
       */
      readonly outcome?: 'running' | 'succeeded' | 'failed' | 'not_called' | 'unknown';
      /**
       * @description Failed calls only.
       * @example upstream_error
       */
      readonly code?: string;
      /**
       * @description Whether the provider charges for the call.
       * @enum {string}
       */
      readonly charged?: 'no' | 'maybe' | 'yes';
    };
    readonly CostView: {
      /**
       * @description Decimal text, so that sums stay exact. What is reserved is the most that the task costs. Null when the price is not known.
       * @example 0.040000
       */
      readonly amount: string | null;
      /**
       * @description ISO 4217.
       * @example USD
       */
      readonly currency: string;
      /**
       * @description `reserved` until the task ends; `settled` when it is completed, or was cancelled after a provider had begun it; `refunded` when it costs nothing: it failed, or was cancelled before that.
       * @enum {string}
       */
      readonly state: 'reserved' | 'settled' | 'refunded' | 'unpriced';
    };
    readonly ModelCapabilities: {
      /**
       * @description Of image models.
       * @example [
       *       "auto",
       *       "1:1",
       *       "3:2"
       *     ]
       */
      readonly sizes?: readonly string[];
      /**
       * @description Tiers of image models.
       * @example [
       *       "1k",
       *       "2k",
       *       "4k"
       *     ]
       */
      readonly resolutions?: readonly string[];
      /** @description Whether it takes reference images. */
      readonly edits?: boolean;
      /** @description Whether edits may have a mask. */
      readonly masks?: boolean;
      /** @description Whether it answers as a stream. */
      readonly streaming?: boolean;
    };
    readonly ModelLimits: {
      /** @description Of this kind of model, per API key; null = any number. */
      readonly requests_per_minute: number | null;
      /** @description Reference images of a request. */
      readonly images?: number;
      /** @description Characters of a prompt. */
      readonly prompt_characters?: number;
    };
    readonly ModelPrice: {
      /** @example USD */
      readonly currency: string;
      /**
       * @description By tier and quality; `auto` is what a quality costs that is not listed.
       * @example {
       *       "1k": {
       *         "auto": 0.02
       *       }
       *     }
       */
      readonly per_image?: {
        readonly [key: string]: {
          readonly [key: string]: number;
        };
      };
      /**
       * @example {
       *       "input": 1.25,
       *       "cached_input": 0.125,
       *       "output": 10
       *     }
       */
      readonly per_million_tokens?: {
        readonly [key: string]: number;
      };
    };
    readonly ModelView: {
      /** @example gpt-image-2 */
      readonly id: string;
      /** @enum {string} */
      readonly object: 'model';
      /** @description Unix seconds. */
      readonly created: number;
      readonly owned_by: string;
      /**
       * @description `image-generation` or `openai` (chat).
       * @example [
       *       "image-generation"
       *     ]
       */
      readonly supported_endpoint_types: readonly string[];
      readonly capabilities: components['schemas']['ModelCapabilities'];
      readonly limits: components['schemas']['ModelLimits'];
      /** @description Absent when nothing is charged. */
      readonly price?: components['schemas']['ModelPrice'];
    };
    readonly ModelListResponse: {
      /** @enum {string} */
      readonly object: 'list';
      readonly data: readonly components['schemas']['ModelView'][];
    };
    readonly ProviderOfferView: {
      /** @description What the button calls it. */
      readonly name: string;
      /** @description Where a browser goes to begin. */
      readonly url: string;
    };
    readonly SignInView: {
      /** @description There is no first admin yet. */
      readonly first_run: boolean;
      /** @description One may sign in with e-mail and password. */
      readonly password: boolean;
      /** @description One may sign in with OpenID Connect. */
      readonly oidc: components['schemas']['ProviderOfferView'] | null;
    };
    readonly PersonView: {
      readonly id: string;
      readonly email: string;
      readonly name: string;
      /** @enum {string} */
      readonly role: 'admin' | 'member';
      /** @description Has a password to sign in with. */
      readonly password: boolean;
      /** @description Is known at the OpenID Connect provider, and may sign in with it. */
      readonly oidc: boolean;
    };
    readonly AccountView: {
      readonly id: string;
      readonly name: string;
    };
    readonly SessionView: {
      readonly person: components['schemas']['PersonView'];
      readonly account: components['schemas']['AccountView'];
      /** @description Looks after the whole installation: an admin of the first account. */
      readonly operator: boolean;
      /**
       * @description What the installation counts money in.
       * @example USD
       */
      readonly currency: string;
    };
    readonly FirstAdminBody: {
      /** @description The part of the link after #token=. */
      readonly token: string;
      readonly password: string;
      readonly name: string;
      readonly email: string;
    };
    readonly JoinBody: {
      /** @description The part of the link after #token=. */
      readonly token: string;
      readonly password: string;
      readonly name: string;
    };
    readonly ResetPasswordBody: {
      /** @description The part of the link after #token=. */
      readonly token: string;
      readonly password: string;
    };
    readonly SignInBody: {
      readonly email: string;
      readonly password: string;
    };
    readonly LinkBody: {
      /** @description The part of the link after #token=. */
      readonly token: string;
    };
    readonly ProviderView: {
      /** @description Where the browser goes to sign in. */
      readonly url: string;
    };
    readonly OpenSessionView: {
      readonly id: string;
      /** @description The session of this very request. */
      readonly current: boolean;
      readonly user_agent: string;
      /** Format: date-time */
      readonly created_at: string;
      /** Format: date-time */
      readonly last_seen_at: string;
    };
    readonly SessionListView: {
      readonly data: readonly components['schemas']['OpenSessionView'][];
    };
    readonly ChangePasswordBody: {
      readonly current_password: string;
      readonly password: string;
    };
    readonly NameBody: {
      readonly name: string;
    };
    readonly BudgetView: {
      /** @example 25.000000 */
      readonly amount: string;
      /** @enum {string} */
      readonly period: 'month' | 'total';
      /**
       * @description In this period; settled and reserved.
       * @example 1.200000
       */
      readonly spent: string;
    };
    readonly KeyCreatorView: {
      readonly id: string;
      readonly name: string;
    };
    readonly SpendView: {
      /** @example 12.340000 */
      readonly amount: string;
      /** @example USD */
      readonly currency: string;
    };
    readonly KeyView: {
      readonly id: string;
      readonly name: string;
      /** @description How the key begins. */
      readonly prefix: string;
      /** @description Empty: all. */
      readonly models: readonly string[];
      /** @description What it may be used for. Empty: everything. */
      readonly scopes: readonly ('images' | 'tasks' | 'chat')[];
      readonly weight: number;
      readonly submits_per_minute: number | null;
      readonly polls_per_minute: number | null;
      readonly tasks_in_flight: number | null;
      /**
       * @description Null: as the deployment has it.
       * @enum {string|null}
       */
      readonly default_response_format: 'both' | 'url' | 'b64_json' | null;
      /** @description Null: as the deployment has it. */
      readonly allow_pixel_size: boolean | null;
      /** @enum {string} */
      readonly submit_mode: 'sync' | 'apimart';
      readonly budget: components['schemas']['BudgetView'] | null;
      /** Format: date-time */
      readonly created_at: string;
      /** @description Null: a command, or not known. */
      readonly created_by: components['schemas']['KeyCreatorView'] | null;
      /** @description Id of the key that a rotation made in its place. */
      readonly replaced_by: string | null;
      /** Format: date-time */
      readonly expires_at: string | null;
      /** Format: date-time */
      readonly revoked_at: string | null;
      /**
       * Format: date-time
       * @description To the minute.
       */
      readonly last_used_at: string | null;
      readonly spend: components['schemas']['SpendView'];
    };
    readonly KeyListView: {
      readonly data: readonly components['schemas']['KeyView'][];
    };
    readonly KeyNameView: {
      readonly id: string;
      readonly name: string;
    };
    readonly KeyNameListView: {
      readonly data: readonly components['schemas']['KeyNameView'][];
    };
    readonly NewKeyBody: {
      /** @example 25.00 */
      readonly budget?: string | null;
      /** @enum {string} */
      readonly budget_period?: 'month' | 'total';
      /** @description Empty: all. */
      readonly models?: readonly string[];
      /** @description Empty: everything. */
      readonly scopes?: readonly ('images' | 'tasks' | 'chat')[];
      readonly weight?: number | null;
      readonly submits_per_minute?: number | null;
      readonly polls_per_minute?: number | null;
      readonly tasks_in_flight?: number | null;
      /** Format: date-time */
      readonly expires_at?: string | null;
      /** @enum {string|null} */
      readonly default_response_format?: 'both' | 'url' | 'b64_json' | null;
      readonly allow_pixel_size?: boolean | null;
      /** @enum {string} */
      readonly submit_mode?: 'sync' | 'apimart';
      readonly name: string;
    };
    readonly NewKeyView: {
      readonly key: components['schemas']['KeyView'];
      /**
       * @description Shown only now.
       * @example sk-dr-...
       */
      readonly secret: string;
    };
    readonly KeyChangeBody: {
      /** @example 25.00 */
      readonly budget?: string | null;
      /** @enum {string} */
      readonly budget_period?: 'month' | 'total';
      /** @description Empty: all. */
      readonly models?: readonly string[];
      /** @description Empty: everything. */
      readonly scopes?: readonly ('images' | 'tasks' | 'chat')[];
      readonly weight?: number | null;
      readonly submits_per_minute?: number | null;
      readonly polls_per_minute?: number | null;
      readonly tasks_in_flight?: number | null;
      /** Format: date-time */
      readonly expires_at?: string | null;
      /** @enum {string|null} */
      readonly default_response_format?: 'both' | 'url' | 'b64_json' | null;
      readonly allow_pixel_size?: boolean | null;
      /** @enum {string} */
      readonly submit_mode?: 'sync' | 'apimart';
      readonly name?: string;
    };
    readonly RotateKeyBody: {
      readonly overlap_hours: number;
    };
    readonly AcceptedTaskView: {
      readonly task_id: string;
    };
    readonly TaskKeyView: {
      readonly id: string;
      readonly name: string;
    };
    readonly ConsoleTaskRow: {
      readonly id: string;
      /** @enum {string} */
      readonly status: 'pending' | 'completed' | 'failed' | 'cancelled';
      /** @enum {string} */
      readonly phase: 'queued' | 'running' | 'storing' | 'done';
      readonly progress: number;
      /** @enum {string} */
      readonly action: 'generation' | 'edit';
      readonly model: string;
      /** @example 16:9 */
      readonly size: string;
      /** @example 2k */
      readonly resolution: string | null;
      /** @description In lists its first 200 characters. */
      readonly prompt: string;
      readonly key: components['schemas']['TaskKeyView'];
      /** Format: date-time */
      readonly created_at: string;
      /** Format: date-time */
      readonly finished_at: string | null;
      /** @description Signed; of the thumbnail if there is one. Null when there is no image, or no longer. */
      readonly thumbnail_url: string | null;
      /**
       * Format: date-time
       * @description Null while its images are kept.
       */
      readonly pictures_deleted_at: string | null;
      readonly cost: components['schemas']['CostView'] | null;
    };
    readonly ConsoleTaskPage: {
      readonly data: readonly components['schemas']['ConsoleTaskRow'][];
      readonly has_more: boolean;
      /** @description Pass it as `after` to get the next page. */
      readonly next: string | null;
      /**
       * Format: date-time
       * @description How far back a search looked before it stopped without having found enough; `next` goes on there.
       */
      readonly searched_until: string | null;
    };
    readonly TaskPictureView: {
      /** @description Signed. */
      readonly url: string;
      /** @example 2048x2048 */
      readonly size: string;
      /** @example image/png */
      readonly content_type: string;
    };
    readonly TaskDeliveryView: {
      readonly id: string;
      /** @description Null when the endpoint was removed. */
      readonly url: string | null;
      /** @enum {string} */
      readonly status: 'pending' | 'delivered' | 'failed';
      readonly attempts: number;
      /** @description HTTP status of the last attempt. */
      readonly last_status: number | null;
      /** Format: date-time */
      readonly created_at: string;
      /** Format: date-time */
      readonly delivered_at: string | null;
    };
    readonly ConsoleTaskView: {
      readonly id: string;
      /** @enum {string} */
      readonly status: 'pending' | 'completed' | 'failed' | 'cancelled';
      /** @enum {string} */
      readonly phase: 'queued' | 'running' | 'storing' | 'done';
      readonly progress: number;
      /** @enum {string} */
      readonly action: 'generation' | 'edit';
      readonly model: string;
      /** @example 16:9 */
      readonly size: string;
      /** @example 2k */
      readonly resolution: string | null;
      /** @description In lists its first 200 characters. */
      readonly prompt: string;
      readonly key: components['schemas']['TaskKeyView'];
      /** Format: date-time */
      readonly created_at: string;
      /** Format: date-time */
      readonly finished_at: string | null;
      /** @description Signed; of the thumbnail if there is one. Null when there is no image, or no longer. */
      readonly thumbnail_url: string | null;
      /**
       * Format: date-time
       * @description Null while its images are kept.
       */
      readonly pictures_deleted_at: string | null;
      readonly cost: components['schemas']['CostView'] | null;
      readonly request_id: string;
      /** @description What else was asked for, by name. */
      readonly options: {
        readonly [key: string]: string | number | boolean;
      };
      /** @description Among the account's own waiting tasks. */
      readonly queue_position?: number;
      /** @description Seconds from acceptance to the end. */
      readonly estimated_time?: number;
      /** @description Completed tasks only. */
      readonly sizes?: components['schemas']['TaskSizesView'];
      readonly images: readonly components['schemas']['TaskPictureView'][];
      /** @description How many images it was made from. */
      readonly reference_images: number;
      /** @description A mask said where to edit. */
      readonly masked: boolean;
      readonly warnings: readonly string[];
      /** @description The failed task that an operator drew anew as this one. */
      readonly redrive_of: string | null;
      /** @description The task that this failed one was drawn anew as. */
      readonly redriven_as: string | null;
      /** @description Failed tasks only. */
      readonly error?: components['schemas']['TaskErrorView'];
      readonly timeline: readonly components['schemas']['TaskEventView'][];
      readonly webhook_deliveries: readonly components['schemas']['TaskDeliveryView'][];
    };
    readonly PartialPictureView: {
      readonly index: number;
      readonly b64_json: string;
      /** @enum {string} */
      readonly output_format: 'png' | 'jpeg' | 'webp';
    };
    readonly UsageView: {
      /** Format: date-time */
      readonly time: string;
      /** @description Null: no provider was called. */
      readonly group: string | null;
      readonly pictures: number;
      readonly failed: number;
      /** @example 1.200000 */
      readonly spend: string;
      readonly p50_ms: number | null;
      readonly p95_ms: number | null;
    };
    readonly UsageListView: {
      readonly data: readonly components['schemas']['UsageView'][];
      /** @example USD */
      readonly currency: string;
    };
    readonly TrialView: {
      readonly model: string;
      /** @description Null when nothing is charged. */
      readonly cost: components['schemas']['CostView'] | null;
    };
    readonly RestingKeyView: {
      /** @description Name of the key, never the key. */
      readonly key: string;
      /** @description How long it still rests. */
      readonly rests_ms: number;
    };
    readonly DrainedView: {
      /** Format: date-time */
      readonly since: string;
      readonly reason: string | null;
    };
    readonly ProviderStateView: {
      readonly name: string;
      /**
       * @description Null: not in the catalogue any more.
       * @example openai
       */
      readonly type: string | null;
      /** @description Models it has routes of. */
      readonly models: readonly string[];
      /** @description Image models that it can be tried out with, and what that costs. */
      readonly trials: readonly components['schemas']['TrialView'][];
      /** @description False when it needs a key and the API has been given none. */
      readonly has_key: boolean;
      /** @description Names of keys that the API was started without. */
      readonly unset_keys: readonly string[];
      /** @enum {string} */
      readonly breaker: 'closed' | 'half-open' | 'open';
      /** @description Until an open breaker lets a call pass. */
      readonly open_ms: number;
      /** @description Calls that run or are parked. */
      readonly calls: number;
      readonly concurrency: number | null;
      /** @description Calls begun in the last minute. */
      readonly starts: number;
      readonly starts_per_minute: number | null;
      readonly resting_keys: readonly components['schemas']['RestingKeyView'][];
      readonly drained: components['schemas']['DrainedView'] | null;
    };
    readonly ProviderListView: {
      readonly data: readonly components['schemas']['ProviderStateView'][];
    };
    readonly ProviderFiguresView: {
      readonly name: string;
      readonly calls: number;
      readonly failed: number;
      /** @description Of calls that succeeded, in milliseconds. */
      readonly median_ms: number | null;
    };
    readonly ProviderFiguresListView: {
      /** @description Image calls in the last hour; in a busy hour, those of the newest 5000 tasks. */
      readonly data: readonly components['schemas']['ProviderFiguresView'][];
    };
    readonly DrainBody: {
      /** @description Why, in 1 to 200 visible characters. */
      readonly reason?: string;
    };
    readonly TestBody: {
      /** @description One of its image models; its first unless it is said. */
      readonly model?: string;
    };
    readonly WorkerView: {
      readonly id: string;
      readonly host: string;
      readonly pid: number;
      /** @example 1.0.0 */
      readonly version: string;
      /** @description Tasks it has in hand at most. */
      readonly slots: number;
      /** @description Tasks it has in hand. */
      readonly running: number;
      /** Format: date-time */
      readonly started_at: string;
      /**
       * Format: date-time
       * @description Its last sign of life; without one for 15 s it is gone.
       */
      readonly last_seen_at: string;
    };
    readonly QueueView: {
      readonly waiting: number;
      readonly active: number;
      /** @description To be tried again later. */
      readonly delayed: number;
      /** @description Age of the oldest task that waits to be started. */
      readonly oldest_waiting_seconds: number;
      readonly completed_last_minute: number;
      readonly failed_last_hour: number;
      /** @description Those that take tasks, in the order in which they started. */
      readonly workers: readonly components['schemas']['WorkerView'][];
    };
    readonly FinishedMinuteView: {
      /** Format: date-time */
      readonly time: string;
      readonly completed: number;
      readonly failed: number;
    };
    readonly FinishedMinutesView: {
      /** @description The last sixty minutes, oldest first. */
      readonly data: readonly components['schemas']['FinishedMinuteView'][];
    };
    readonly FailureGroupView: {
      /** @example upstream_error */
      readonly code: string;
      /** @description The provider that was called last; null: none. */
      readonly provider: string | null;
      readonly model: string;
      readonly count: number;
      /** @description Those that were drawn anew since. */
      readonly redriven: number;
      /** Format: date-time */
      readonly latest_at: string;
      /** @description Why they are not drawn anew; null where they are. */
      readonly why_not: string | null;
    };
    readonly FailureListView: {
      /** @description The kind that happened last first; 200 at most. */
      readonly data: readonly components['schemas']['FailureGroupView'][];
    };
    readonly OwnerView: {
      readonly id: string;
      readonly name: string;
    };
    readonly FailedTaskView: {
      readonly id: string;
      readonly account: components['schemas']['OwnerView'];
      readonly key: components['schemas']['OwnerView'];
      /** Format: date-time */
      readonly failed_at: string;
      readonly message: string;
      /** @description Id of the task that it was drawn anew as. */
      readonly redriven_as: string | null;
    };
    readonly FailedTaskPage: {
      readonly data: readonly components['schemas']['FailedTaskView'][];
      readonly has_more: boolean;
      /** @description Pass it as `after` to get the next page. */
      readonly next: string | null;
    };
    readonly RedriveBody: {
      /** @description Ids of failed tasks. */
      readonly tasks?: readonly string[];
      /** @description Together with `model` and `days`: the newest 100 of this kind. */
      readonly code?: string;
      /** @description Absent or null: no provider was called. */
      readonly provider?: string | null;
      readonly model?: string;
      /** @description How far back; 7. */
      readonly days?: number;
      /** @description What the answer before had as `next`. */
      readonly after?: string;
    };
    readonly RedrivenView: {
      readonly task_id: string;
      readonly new_task_id: string;
    };
    readonly NotRedrivenView: {
      readonly task_id: string;
      readonly code: string;
      readonly message: string;
    };
    readonly RedriveView: {
      readonly redriven: readonly components['schemas']['RedrivenView'][];
      readonly refused: readonly components['schemas']['NotRedrivenView'][];
      /** @description Of a kind: pass it as `after` for those that are left. */
      readonly next: string | null;
    };
    readonly TeamPersonView: {
      readonly id: string;
      readonly email: string;
      readonly name: string;
      /** @enum {string} */
      readonly role: 'admin' | 'member';
      readonly signs_in_with: readonly ('password' | 'openid')[];
      /** Format: date-time */
      readonly created_at: string;
      /**
       * Format: date-time
       * @description To the minute.
       */
      readonly last_seen_at: string | null;
      /** Format: date-time */
      readonly disabled_at: string | null;
    };
    readonly TeamView: {
      readonly data: readonly components['schemas']['TeamPersonView'][];
    };
    readonly InviteBody: {
      readonly email: string;
      /** @enum {string} */
      readonly role: 'admin' | 'member';
    };
    readonly LinkView: {
      /** @description Works once; shown only now. */
      readonly link: string;
      /**
       * @description Hours for which it works.
       * @example 24
       */
      readonly hours: number;
    };
    readonly PersonChangeBody: {
      /** @enum {string} */
      readonly role?: 'admin' | 'member';
      /** @description Disabled members are signed out at once. */
      readonly disabled?: boolean;
    };
    readonly InvitationView: {
      readonly id: string;
      readonly email: string;
      /** @enum {string} */
      readonly role: 'admin' | 'member';
      /** Format: date-time */
      readonly created_at: string;
      /**
       * Format: date-time
       * @description May be past: then only a new link helps.
       */
      readonly expires_at: string;
    };
    readonly InvitationListView: {
      readonly data: readonly components['schemas']['InvitationView'][];
    };
    readonly AuditPersonView: {
      readonly id: string;
      readonly name: string;
      readonly email: string;
    };
    readonly AuditEntryView: {
      readonly id: string;
      /** @description Null when no member of the account did it. */
      readonly person: components['schemas']['AuditPersonView'] | null;
      /**
       * @description Who did it, to be read before the sentence.
       * @example Ada
       */
      readonly who: string;
      /**
       * @description What was done, with the names of that time.
       * @example revoked the key “mobile app”
       */
      readonly sentence: string;
      /**
       * @description Others come from other versions of the service.
       * @example key.created
       * @example key.changed
       * @example key.rotated
       * @example key.revoked
       * @example task.made
       * @example task.made_again
       * @example tasks.redriven
       * @example task.cancelled
       * @example webhook_endpoint.added
       * @example webhook_endpoint.changed
       * @example webhook_endpoint.disabled
       * @example webhook_endpoint.enabled
       * @example webhook_endpoint.removed
       * @example webhook_endpoint.tested
       * @example webhook_secret.rotated
       * @example webhook_delivery.resent
       * @example provider.drained
       * @example provider.resumed
       * @example provider.tested
       * @example person.invited
       * @example person.changed
       * @example person.reset_link_made
       * @example invitation.withdrawn
       * @example account.created
       * @example account.renamed
       * @example account.disabled
       * @example account.enabled
       * @example account.limits_set
       * @example account.budget_set
       * @example person.joined
       * @example person.became_first_admin
       * @example person.signed_in
       * @example person.sign_in_failed
       * @example person.signed_out
       * @example person.changed_password
       * @example person.reset_password
       * @example person.reset_sign_in
       * @example session.ended
       */
      readonly action: string;
      /** @description Id or name of what it is about. */
      readonly target: string | null;
      /** @description Whether the account still has what it is about. */
      readonly target_exists: boolean;
      /** @description What else is known, by action; never a secret. */
      readonly details: {
        readonly [key: string]: unknown;
      };
      /** Format: date-time */
      readonly created_at: string;
    };
    readonly AuditPageView: {
      /** @description Newest first. */
      readonly data: readonly components['schemas']['AuditEntryView'][];
      readonly has_more: boolean;
      /** @description Pass it as `after` to get the next page. */
      readonly next: string | null;
    };
    readonly AccountLimitsView: {
      /** @description Share of the queue relative to other accounts. */
      readonly weight: number;
      readonly submits_per_minute: number | null;
      readonly polls_per_minute: number | null;
      readonly chats_per_minute: number | null;
      readonly tasks_in_flight: number | null;
      /** @description Keys that may work at a time. */
      readonly max_keys: number | null;
    };
    readonly AccountDefaultsView: {
      readonly weight: number;
      readonly submits_per_minute: number;
      readonly polls_per_minute: number;
      readonly chats_per_minute: number;
      readonly tasks_in_flight: number;
      readonly max_keys: number;
    };
    readonly OwnAccountView: {
      readonly id: string;
      readonly name: string;
      readonly budget: components['schemas']['BudgetView'] | null;
      /** @description Since the month began, in UTC; settled and reserved. */
      readonly spend: components['schemas']['SpendView'];
      readonly limits: components['schemas']['AccountLimitsView'];
      /** @description What the deployment allows an account otherwise. */
      readonly defaults: components['schemas']['AccountDefaultsView'];
    };
    readonly AccountRowView: {
      readonly id: string;
      readonly name: string;
      readonly budget: components['schemas']['BudgetView'] | null;
      /** @description Since the month began, in UTC; settled and reserved. */
      readonly spend: components['schemas']['SpendView'];
      readonly limits: components['schemas']['AccountLimitsView'];
      /** @description What the deployment allows an account otherwise. */
      readonly defaults: components['schemas']['AccountDefaultsView'];
      /** @description The first account, which cannot be disabled. */
      readonly first: boolean;
      /** Format: date-time */
      readonly created_at: string;
      /** Format: date-time */
      readonly disabled_at: string | null;
      /** @description Who may sign in. */
      readonly people: number;
      /** @description Those of them who are admins. */
      readonly admins: number;
      /** @description Keys that work. */
      readonly keys: number;
      /** @description Tasks that wait or run. */
      readonly tasks_in_flight: number;
    };
    readonly AccountListView: {
      readonly data: readonly components['schemas']['AccountRowView'][];
    };
    readonly NewAccountBody: {
      /** @example 25.00 */
      readonly budget?: string | null;
      /** @enum {string} */
      readonly budget_period?: 'month' | 'total';
      readonly weight?: number | null;
      readonly submits_per_minute?: number | null;
      readonly polls_per_minute?: number | null;
      readonly chats_per_minute?: number | null;
      readonly tasks_in_flight?: number | null;
      readonly max_keys?: number | null;
      readonly name: string;
      /** @description Of its first admin. */
      readonly email: string;
    };
    readonly NewAccountView: {
      /** @description Works once; shown only now. */
      readonly link: string;
      /**
       * @description Hours for which it works.
       * @example 24
       */
      readonly hours: number;
      readonly account: components['schemas']['AccountRowView'];
    };
    readonly AccountChangeBody: {
      /** @example 25.00 */
      readonly budget?: string | null;
      /** @enum {string} */
      readonly budget_period?: 'month' | 'total';
      readonly weight?: number | null;
      readonly submits_per_minute?: number | null;
      readonly polls_per_minute?: number | null;
      readonly chats_per_minute?: number | null;
      readonly tasks_in_flight?: number | null;
      readonly max_keys?: number | null;
      readonly name?: string;
      /** @description Its keys are refused within 10 seconds, its people are signed out at once. */
      readonly disabled?: boolean;
    };
    readonly InviteAdminBody: {
      readonly email: string;
    };
    readonly EndpointRecordView: {
      /** @description Of its newest 100 deliveries. */
      readonly delivered: number;
      readonly failed: number;
      /**
       * Format: date-time
       * @description Of its newest delivery.
       */
      readonly last_at: string;
    };
    readonly EndpointView: {
      readonly id: string;
      readonly url: string;
      readonly events: readonly ('image.task.completed' | 'image.task.failed' | 'image.task.cancelled')[];
      /** Format: date-time */
      readonly created_at: string;
      /**
       * Format: date-time
       * @description Null: it is active.
       */
      readonly disabled_at: string | null;
      /**
       * @description gone: it answered 410.
       * @enum {string|null}
       */
      readonly disabled_reason: 'gone' | 'owner' | null;
      /** @description Null: nothing of it is in the log. */
      readonly recent: components['schemas']['EndpointRecordView'] | null;
    };
    readonly EndpointListView: {
      readonly data: readonly components['schemas']['EndpointView'][];
    };
    readonly NewEndpointBody: {
      /** @description A public https address, 2048 characters at most. */
      readonly url: string;
      /** @description All unless told. */
      readonly events?: readonly ('image.task.completed' | 'image.task.failed' | 'image.task.cancelled')[];
    };
    readonly EndpointChangeBody: {
      readonly events?: readonly ('image.task.completed' | 'image.task.failed' | 'image.task.cancelled')[];
      /** @description False switches it off; true switches it on, after a 410 too. */
      readonly active?: boolean;
    };
    readonly SentTestView: {
      /** @description Of the delivery, which shows how it went. */
      readonly id: string;
    };
    readonly SecretView: {
      readonly id: string;
      /** @example whsec_... */
      readonly secret: string;
      /** Format: date-time */
      readonly created_at: string;
      /**
       * Format: date-time
       * @description Null: the current one.
       */
      readonly expires_at: string | null;
    };
    readonly SecretListView: {
      /** @description Those that are valid, the current one first; two at most. */
      readonly data: readonly components['schemas']['SecretView'][];
    };
    readonly RotateSecretBody: {
      /** @default 24 */
      readonly overlap_hours?: number;
    };
    readonly AttemptView: {
      readonly number: number;
      /** Format: date-time */
      readonly started_at: string;
      /** @description Null: it runs, or its outcome was never learned. */
      readonly duration_ms: number | null;
      /** @description What the receiver answered. */
      readonly status: number | null;
      /**
       * @description Why there is no answer.
       * @enum {string|null}
       */
      readonly error:
        | 'timeout'
        | 'tls'
        | 'unreachable'
        | 'interrupted'
        | 'secret_unreadable'
        | 'endpoint_disabled'
        | 'removed'
        | null;
    };
    readonly DeliveryView: {
      readonly id: string;
      /** @description Null: a test of the endpoint. */
      readonly task_id: string | null;
      /** @enum {string} */
      readonly event: 'image.task.completed' | 'image.task.failed' | 'image.task.cancelled' | 'webhook.test';
      /** @description Null: the task's own callback_url. */
      readonly endpoint_id: string | null;
      /** @description Null when its endpoint or task is no more. */
      readonly url: string | null;
      /** @enum {string} */
      readonly status: 'pending' | 'delivered' | 'failed';
      /** Format: date-time */
      readonly created_at: string;
      /**
       * Format: date-time
       * @description Null once it has ended.
       */
      readonly next_try_at: string | null;
      /** @description Oldest first. */
      readonly attempts: readonly components['schemas']['AttemptView'][];
    };
    readonly DeliveryPage: {
      /** @description Newest first. */
      readonly data: readonly components['schemas']['DeliveryView'][];
      readonly has_more: boolean;
      /** @description Pass it as `after` to get the next page. */
      readonly next: string | null;
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}

/** What the console API takes and answers, by the names of the classes of its bodies and views. */
export type Schema = components['schemas'];
