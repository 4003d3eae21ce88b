-- All tables, then the functions and triggers that keep them true. prisma/schema.prisma says what each column holds; here
-- stand the constraints, and why an index or a trigger is there.
--
--   accounts     accounts, api_keys, budgets
--   people       people, sessions, sign_in_links, second_factors, recovery_codes, passkeys, used_passkey_challenges, audit_log
--   tasks        tasks, idempotency_keys, stored_inputs, uploads
--   money        charges, task_reserves, chat_usage, chat_reserves, spend_totals
--   usage        usage_changes, usage_rollups, grouped_usage
--   events       webhook_endpoints, webhook_secrets, webhook_deliveries, webhook_attempts, alert_rules, alert_events
--   providers    provider_switches, catalog_revisions, provider_keys

-- ================================================================ accounts

CREATE TABLE "accounts" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "disabled_at" TIMESTAMPTZ(3),
    -- What is deleted stays as a row without what could be used or is private: the ledger, the usage and the audit log name it.
    "deleted_at" TIMESTAMPTZ(3),
    -- Limits of all keys together, set by operators; NULL = the deployment's default, 0 = unlimited.
    "weight" INTEGER NOT NULL DEFAULT 1,
    "submits_per_minute" INTEGER,
    "polls_per_minute" INTEGER,
    "chats_per_minute" INTEGER,
    "tasks_in_flight" INTEGER,
    "max_keys" INTEGER,
    "default_response_format" TEXT,
    "require_two_factor" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "accounts_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "accounts_weight_check" CHECK ("weight" BETWEEN 1 AND 100),
    CONSTRAINT "accounts_limits_check" CHECK (
        COALESCE("submits_per_minute", 0) >= 0 AND COALESCE("polls_per_minute", 0) >= 0
        AND COALESCE("chats_per_minute", 0) >= 0 AND COALESCE("tasks_in_flight", 0) >= 0 AND COALESCE("max_keys", 0) >= 0)
);

INSERT INTO "accounts" ("id", "name") VALUES ('acct_default', 'Default');

CREATE TABLE "api_keys" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "prefix" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "secret_id" TEXT,
    -- What it may be used for, and which models; empty = everything.
    "scopes" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "models" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "tasks" TEXT NOT NULL DEFAULT 'all',
    "weight" INTEGER NOT NULL DEFAULT 1,
    "default_response_format" TEXT,
    "allow_pixel_size" BOOLEAN,
    "submit_mode" TEXT NOT NULL DEFAULT 'sync',
    -- Instead of those of the deployment; NULL = the deployment's, 0 = none.
    "submits_per_minute" INTEGER,
    "polls_per_minute" INTEGER,
    "tasks_in_flight" INTEGER,
    "created_by" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "hidden" BOOLEAN NOT NULL DEFAULT false,
    -- Until it ends, a key that was rotated counts with the new one as one key; they share the budget of the first of them.
    "replaced_by" TEXT,
    "original_key_id" TEXT,

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "api_keys_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "api_keys_secret_check" CHECK ("hidden" OR "secret_id" IS NOT NULL),
    CONSTRAINT "api_keys_limits_check" CHECK (
        COALESCE("submits_per_minute", 0) >= 0 AND COALESCE("polls_per_minute", 0) >= 0 AND COALESCE("tasks_in_flight", 0) >= 0)
);
CREATE UNIQUE INDEX "api_keys_hash_key" ON "api_keys"("hash");
CREATE UNIQUE INDEX "api_keys_hidden_key" ON "api_keys"("account_id", "name") WHERE "hidden";
CREATE INDEX "api_keys_account_id_idx" ON "api_keys"("account_id");

-- Only owners with a budget have a row, so that nobody else waits for a lock.
CREATE TABLE "budgets" (
    "owner_id" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "limit_micros" BIGINT NOT NULL,
    "period" TEXT NOT NULL,
    "spent_micros" BIGINT NOT NULL,
    "period_start" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "budgets_pkey" PRIMARY KEY ("owner_id"),
    CONSTRAINT "budgets_owner_check" CHECK ("owner" IN ('account', 'key')),
    CONSTRAINT "budgets_period_check" CHECK ("period" IN ('month', 'total')),
    CONSTRAINT "budgets_amounts_check" CHECK ("limit_micros" >= 0 AND "spent_micros" >= 0)
) WITH (fillfactor = 50);

-- ================================================================ people

-- Who may use the console. An account owns its people as it owns its keys. Owners are the admins whom other admins cannot change.
CREATE TABLE "people" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "email_verified_at" TIMESTAMPTZ(3),
    "name" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "owner" BOOLEAN NOT NULL DEFAULT false,
    "founder" BOOLEAN NOT NULL DEFAULT false,
    "password_hash" TEXT,
    "openid_issuer" TEXT,
    "openid_subject" TEXT,
    -- One user in several accounts: a person may sign in with what another row holds.
    "signs_in_as" TEXT,
    "user_handle" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    -- Sessions know it too, but are removed when they end.
    "seen_at" TIMESTAMPTZ(3),
    "disabled_at" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "people_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "people_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id"),
    CONSTRAINT "people_signs_in_as_fkey" FOREIGN KEY ("signs_in_as") REFERENCES "people"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "people_email_check" CHECK ("email" = lower("email")),
    CONSTRAINT "people_role_check" CHECK ("role" IN ('admin', 'member', 'viewer', 'billing')),
    CONSTRAINT "people_openid_check" CHECK (("openid_issuer" IS NULL) = ("openid_subject" IS NULL))
);
-- An address is unique within an account. Across accounts it is not theirs to reserve: whoever came first would keep its owner out.
CREATE UNIQUE INDEX "people_account_id_email_key" ON "people"("account_id", "email");
CREATE INDEX "people_email_idx" ON "people"("email");
-- However many claim to be the first admin at once, the index lets one in.
CREATE UNIQUE INDEX "people_founder_key" ON "people"("founder") WHERE "founder";
-- One identity belongs to one person, and a person has one at most.
CREATE UNIQUE INDEX "people_openid_key" ON "people"("openid_issuer", "openid_subject");
-- The accounts between which one user switches.
CREATE INDEX "people_signs_in_as_idx" ON "people"("signs_in_as");

CREATE TABLE "sessions" (
    "id" TEXT NOT NULL,
    "person_id" TEXT NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "secret_id" TEXT NOT NULL,
    "user_agent" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    "proven_at" TIMESTAMPTZ(3),
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "sessions_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "sessions_person_id_fkey" FOREIGN KEY ("person_id") REFERENCES "people"("id") ON DELETE CASCADE
);
CREATE UNIQUE INDEX "sessions_token_hash_key" ON "sessions"("token_hash");
CREATE INDEX "sessions_person_id_idx" ON "sessions"("person_id");
-- What workers remove: sessions that are over, and those that nobody used for half a day.
CREATE INDEX "sessions_expires_at_idx" ON "sessions"("expires_at");
CREATE INDEX "sessions_last_seen_at_idx" ON "sessions"("last_seen_at");

-- Links that work once: to become the first admin, to join, to choose a new password.
CREATE TABLE "sign_in_links" (
    "id" TEXT NOT NULL,
    "token_hash" BYTEA NOT NULL,
    "secret_id" TEXT NOT NULL,
    "purpose" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "email" TEXT,
    "role" TEXT NOT NULL,
    "all_accounts" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3),
    -- Whoever made it in the console for somebody else: it works for as long as they may make one.
    "made_by" TEXT,

    CONSTRAINT "sign_in_links_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "sign_in_links_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id"),
    CONSTRAINT "sign_in_links_purpose_check" CHECK ("purpose" IN ('first_admin', 'invite', 'password')),
    CONSTRAINT "sign_in_links_role_check" CHECK ("role" IN ('admin', 'member', 'viewer', 'billing'))
);
CREATE UNIQUE INDEX "sign_in_links_token_hash_key" ON "sign_in_links"("token_hash");
-- What workers remove.
CREATE INDEX "sign_in_links_expires_at_idx" ON "sign_in_links"("expires_at");

-- Authenticator apps: what somebody needs beside their password.
CREATE TABLE "second_factors" (
    "person_id" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "last_step" BIGINT NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "confirmed_at" TIMESTAMPTZ(3),

    CONSTRAINT "second_factors_pkey" PRIMARY KEY ("person_id"),
    CONSTRAINT "second_factors_person_id_fkey" FOREIGN KEY ("person_id") REFERENCES "people"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- For whoever lost the app; each works once and is removed with that.
CREATE TABLE "recovery_codes" (
    "person_id" TEXT NOT NULL,
    "code_hash" BYTEA NOT NULL,

    CONSTRAINT "recovery_codes_pkey" PRIMARY KEY ("person_id", "code_hash"),
    CONSTRAINT "recovery_codes_person_id_fkey" FOREIGN KEY ("person_id") REFERENCES "people"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- What somebody signs in with instead of a password and a code.
CREATE TABLE "passkeys" (
    "id" TEXT NOT NULL,
    "person_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "credential_id" TEXT NOT NULL,
    "public_key" BYTEA NOT NULL,
    "counter" BIGINT NOT NULL,
    "transports" TEXT[] NOT NULL,
    "synced" BOOLEAN NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_used_at" TIMESTAMPTZ(3),

    CONSTRAINT "passkeys_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "passkeys_person_id_fkey" FOREIGN KEY ("person_id") REFERENCES "people"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "passkeys_credential_id_key" ON "passkeys"("credential_id");
CREATE INDEX "passkeys_person_id_idx" ON "passkeys"("person_id");

-- Challenges that were answered: none is taken twice. Workers remove them once their time is over.
CREATE TABLE "used_passkey_challenges" (
    "challenge" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "used_passkey_challenges_pkey" PRIMARY KEY ("challenge")
);
CREATE INDEX "used_passkey_challenges_expires_at_idx" ON "used_passkey_challenges"("expires_at");

-- Who did what. Only ever added to; details hold no secrets.
CREATE TABLE "audit_log" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "person_id" TEXT,
    "action" TEXT NOT NULL,
    "target" TEXT,
    "details" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now(),

    CONSTRAINT "audit_log_pkey" PRIMARY KEY ("id")
);
-- Pages of all entries, of one kind, and of what one person did.
CREATE INDEX "audit_log_account_id_id_idx" ON "audit_log"("account_id", "id" DESC);
CREATE INDEX "audit_log_account_id_action_id_idx" ON "audit_log"("account_id", "action", "id" DESC);
CREATE INDEX "audit_log_account_id_person_id_id_idx" ON "audit_log"("account_id", "person_id", "id" DESC);
-- In ids nothing stands between 9 and A, where Postgres supposes seven more characters. What it expected retention to find, in one of a
-- hundred parts of the table, was up to three times too much at some hours, and then it read the whole table instead of its index.
ALTER TABLE "audit_log" ALTER COLUMN "id" SET STATISTICS 1000;

-- ================================================================ tasks

-- One request for images, from its acceptance to its end. No foreign keys: accounts and keys are never deleted, and each insert
-- would lock their rows.
CREATE TABLE "tasks" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "ordered_by" TEXT,
    "request_id" TEXT NOT NULL,
    "trace_parent" TEXT,

    -- The order.
    "action" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "prompt" TEXT NOT NULL,
    "options" JSONB NOT NULL,
    "inputs" JSONB NOT NULL DEFAULT '[]',
    "mask" JSONB,
    "retry_of" TEXT,

    -- Its caller, and the equal requests of one that tries again.
    "asynchronous" BOOLEAN NOT NULL DEFAULT false,
    "callback_url" TEXT,
    "fingerprint" BYTEA,
    "waiter" TEXT,
    "attached_by" TEXT,
    "abandoned_at" TIMESTAMPTZ(3),
    "delivered_at" TIMESTAMPTZ(3),

    -- How far it is.
    "status" TEXT NOT NULL DEFAULT 'pending',
    "phase" TEXT NOT NULL DEFAULT 'queued',
    "progress" INTEGER NOT NULL DEFAULT 0,
    "estimated_ms" INTEGER,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),
    "deadline_at" TIMESTAMPTZ(3) NOT NULL,

    -- Who works on it, and since when again.
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "epoch" INTEGER NOT NULL DEFAULT 0,
    "losses" INTEGER NOT NULL DEFAULT 0,
    "waits" INTEGER NOT NULL DEFAULT 0,
    "lease_owner" TEXT,
    "lease_until" TIMESTAMPTZ(3),
    "next_try_at" TIMESTAMPTZ(3),

    -- Calls to providers, each counted before it is made.
    "provider_starts" INTEGER NOT NULL DEFAULT 0,
    "provider" TEXT,
    "provider_job_id" TEXT,
    "provider_call_open" BOOLEAN NOT NULL DEFAULT false,
    "calls" JSONB NOT NULL DEFAULT '[]',

    -- What became of it.
    "error" JSONB,
    "images" JSONB,
    "usage" JSONB,
    "warnings" JSONB,
    "cost" JSONB,
    "has_thumbnail" BOOLEAN NOT NULL DEFAULT false,
    "favorited_at" TIMESTAMPTZ(3),
    "objects_deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "tasks_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "tasks_status_check" CHECK ("status" IN ('pending', 'completed', 'failed', 'cancelled')),
    CONSTRAINT "tasks_phase_check" CHECK ("phase" IN ('queued', 'running', 'storing', 'done')),
    CONSTRAINT "tasks_progress_check" CHECK ("progress" BETWEEN 0 AND 100),
    CONSTRAINT "tasks_finished_check" CHECK (("status" = 'pending') = ("finished_at" IS NULL))
-- Room on every page for new versions of its rows: no index covers what changes while a task runs, so those updates stay heap-only
-- (measured: twice the updates per second, half the size). Rows grow to 1.4 kB while their tasks run, and those of a page run at
-- the same time: at 50, four rows share a page, with room for two more versions.
) WITH (fillfactor = 50);

-- Which index leads which query, and why others must not: docs/decisions/2026-11-22-indexes-of-tasks.md.
-- For the sweep, which walks the unfinished tasks by id. Its condition is spelt unlike that of a worker's moves
-- (status = 'pending'; a check keeps the two equal): else the planner may look a single task up by walking through
-- all that are unfinished, which costs more the longer the queue is.
CREATE INDEX "tasks_unfinished_idx" ON "tasks"("id") WHERE "finished_at" IS NULL;
-- What retention walks: the oldest finished tasks, and first those whose objects are still stored.
CREATE INDEX "tasks_finished_idx" ON "tasks"("finished_at") WHERE "status" <> 'pending';
CREATE INDEX "tasks_objects_due_idx" ON "tasks"("finished_at") WHERE "status" <> 'pending' AND "objects_deleted_at" IS NULL;
-- Lists of an account's tasks: all, what failed or was cancelled (rare in a long history; pending tasks are not in it, because
-- statements that move one find it by its id, and must not be led through a backlog), and favorites.
CREATE INDEX "tasks_account_id_created_at_id_idx" ON "tasks"("account_id", "created_at" DESC, "id" DESC);
CREATE INDEX "tasks_account_id_status_idx" ON "tasks"("account_id", "status", "created_at" DESC, "id" DESC) WHERE "status" IN ('failed', 'cancelled');
CREATE INDEX "tasks_favorites_idx" ON "tasks"("account_id", "created_at" DESC, "id" DESC) WHERE "favorited_at" IS NOT NULL;
-- Lists of the tasks of one key, of one model, of one person in the console. Only statements that name the phase can take them, so
-- none that submits or moves a task is led through all of a key's tasks.
CREATE INDEX "tasks_done_api_key_id_idx" ON "tasks"("api_key_id", "created_at" DESC, "id" DESC) WHERE "phase" = 'done';
CREATE INDEX "tasks_done_model_idx" ON "tasks"("account_id", "model", "created_at" DESC, "id" DESC) WHERE "phase" = 'done';
CREATE INDEX "tasks_done_ordered_by_idx" ON "tasks"("ordered_by", "created_at" DESC, "id" DESC) WHERE "phase" = 'done' AND "ordered_by" IS NOT NULL;
-- What failed in all accounts, newest first, and of one kind. They change only when a task ends, which is no heap-only update anyway.
CREATE INDEX "tasks_failed_idx" ON "tasks"("finished_at" DESC, "id" DESC) WHERE "status" = 'failed';
CREATE INDEX "tasks_failed_kind_idx" ON "tasks"("model", "provider", "finished_at" DESC, "id" DESC) WHERE "status" = 'failed';
-- However many operators have a failed task drawn anew, the index lets one in.
CREATE UNIQUE INDEX "tasks_retry_of_key" ON "tasks"("retry_of") WHERE "retry_of" IS NOT NULL;
-- An insert looks for equal requests that it may be about (first_try_may_insert, and the attachments of TaskIntake), and there may be
-- thousands of equal ones: each condition has an index that leads to nothing but its rows. None names delivered_at, so that marking
-- a task as delivered stays a heap-only update.
CREATE INDEX "tasks_fingerprint_abandoned_at_idx" ON "tasks"("fingerprint", "abandoned_at") WHERE "fingerprint" IS NOT NULL;
CREATE INDEX "tasks_fingerprint_failed_idx" ON "tasks"("fingerprint", "finished_at") WHERE "status" = 'failed' AND "fingerprint" IS NOT NULL;
CREATE INDEX "tasks_fingerprint_waiter_idx" ON "tasks"("fingerprint", "waiter") WHERE "status" = 'pending' AND "waiter" IS NOT NULL;
CREATE INDEX "tasks_fingerprint_retried_idx" ON "tasks"("fingerprint", "created_at") WHERE "attached_by" IS NOT NULL;
CREATE INDEX "tasks_fingerprint_completed_idx" ON "tasks"("fingerprint", "finished_at") WHERE "status" = 'completed' AND "waiter" IS NOT NULL;

-- Which task a caller's Idempotency-Key stands for. The primary key is what makes parallel calls one task.
CREATE TABLE "idempotency_keys" (
    "account_id" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "fingerprint" BYTEA NOT NULL,
    "task_id" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("account_id", "key")
);
-- What retention walks, and what it asks before it deletes a task.
CREATE INDEX "idempotency_keys_expires_at_idx" ON "idempotency_keys"("expires_at");
CREATE INDEX "idempotency_keys_task_id_idx" ON "idempotency_keys"("task_id");

-- Reference images sent with requests count in the quota of their account, like uploads, while they are stored.
CREATE TABLE "stored_inputs" (
    "task_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "bytes" BIGINT NOT NULL,

    CONSTRAINT "stored_inputs_pkey" PRIMARY KEY ("task_id")
);
CREATE INDEX "stored_inputs_account_id_idx" ON "stored_inputs"("account_id") INCLUDE ("bytes");

-- Reference images that callers keep here for several requests. The object is uploads/<id>.
CREATE TABLE "uploads" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "content_type" TEXT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "pixels" INTEGER,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "uploads_pkey" PRIMARY KEY ("id")
);
-- What retention walks.
CREATE INDEX "uploads_expires_at_idx" ON "uploads"("expires_at");
-- What an account keeps here, and its bytes, which every upload adds up from the index alone.
CREATE INDEX "uploads_account_id_expires_at_idx" ON "uploads"("account_id", "expires_at") INCLUDE ("bytes");

-- ================================================================ money

-- The ledger, which is only ever added to. A task has one row of each kind at most; when it has ended, what was reserved
-- is what was settled and what was refunded. An amount is NULL where no price was known: flagged, and never zero.
CREATE TABLE "charges" (
    "task_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "amount_micros" BIGINT,
    "currency" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "charges_pkey" PRIMARY KEY ("task_id", "kind"),
    CONSTRAINT "charges_kind_check" CHECK ("kind" IN ('reserve', 'settle', 'refund')),
    CONSTRAINT "charges_amount_check" CHECK ("amount_micros" >= 0)
);
CREATE INDEX "charges_account_id_created_at_idx" ON "charges"("account_id", "created_at" DESC);
-- A key's spend is asked for whenever keys are listed.
CREATE INDEX "charges_api_key_id_idx" ON "charges"("api_key_id");

-- What waiting tasks have reserved, each in a small row of its own: spend and usage read these instead of the tasks, which
-- are wide and whose cost is JSON (docs/decisions/2026-11-22-usage-rollups.md).
CREATE TABLE "task_reserves" (
    "task_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "currency" TEXT NOT NULL,
    "amount_micros" BIGINT NOT NULL,
    "reserved_at" TIMESTAMPTZ(3) NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "task_reserves_pkey" PRIMARY KEY ("task_id")
);
CREATE INDEX "task_reserves_account_id_hour_idx" ON "task_reserves"("account_id", "hour");
CREATE INDEX "task_reserves_api_key_id_idx" ON "task_reserves"("api_key_id");

-- What chats have used, one row per call that reached a provider. Its key is the request's id, so that a batch that is
-- written twice counts once. Tokens are null where the provider did not tell them.
CREATE TABLE "chat_usage" (
    "request_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "provider_key" TEXT,
    "provider_model" TEXT NOT NULL,
    "streamed" BOOLEAN NOT NULL,
    "status" INTEGER NOT NULL,
    "outcome" TEXT NOT NULL,
    "input_tokens" INTEGER,
    "output_tokens" INTEGER,
    "cached_tokens" INTEGER,
    "first_byte_ms" INTEGER NOT NULL,
    "duration_ms" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "cost_micros" BIGINT,

    CONSTRAINT "chat_usage_pkey" PRIMARY KEY ("request_id")
);
CREATE INDEX "chat_usage_account_id_created_at_idx" ON "chat_usage"("account_id", "created_at" DESC);
-- For the retention, which takes the oldest rows of all accounts.
CREATE INDEX "chat_usage_created_at_idx" ON "chat_usage"("created_at");

-- What is set aside for chats whose caller or account has a budget, until they are written down (chat_usage).
CREATE TABLE "chat_reserves" (
    "request_id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "amount_micros" BIGINT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "chat_reserves_pkey" PRIMARY KEY ("request_id"),
    CONSTRAINT "chat_reserves_amount_check" CHECK ("amount_micros" >= 0)
);
CREATE INDEX "chat_reserves_expires_at_idx" ON "chat_reserves"("expires_at");

-- What balances are made of; never removed.
CREATE TABLE "spend_totals" (
    "account_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "month" TIMESTAMPTZ(3) NOT NULL,
    "currency" TEXT NOT NULL,
    "amount_micros" BIGINT NOT NULL,

    CONSTRAINT "spend_totals_pkey" PRIMARY KEY ("account_id", "api_key_id", "month", "currency")
);
CREATE INDEX "spend_totals_api_key_id_idx" ON "spend_totals"("api_key_id");

-- ================================================================ usage (docs/decisions/2026-11-22-usage-rollups.md)

-- Ended tasks and chats that have not been added up yet.
CREATE TABLE "usage_changes" (
    "id" BIGSERIAL NOT NULL,
    "reference" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "currency" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "images" INTEGER NOT NULL,
    "spend_micros" BIGINT NOT NULL,
    "input_tokens" BIGINT NOT NULL,
    "output_tokens" BIGINT NOT NULL,
    "latency_ms" BIGINT,

    CONSTRAINT "usage_changes_pkey" PRIMARY KEY ("id")
);

-- By hour and day, and by everything that usage can be told apart by.
CREATE TABLE "usage_rollups" (
    "account_id" TEXT NOT NULL,
    "step" TEXT NOT NULL,
    "time" TIMESTAMPTZ(3) NOT NULL,
    "kind" TEXT NOT NULL,
    "api_key_id" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "currency" TEXT NOT NULL,
    "bucket" SMALLINT NOT NULL,
    "count" BIGINT NOT NULL,
    "images" BIGINT NOT NULL,
    "spend_micros" BIGINT NOT NULL,
    "input_tokens" BIGINT NOT NULL,
    "output_tokens" BIGINT NOT NULL,
    "latency_ms" BIGINT NOT NULL,

    CONSTRAINT "usage_rollups_pkey" PRIMARY KEY ("account_id", "step", "time", "kind", "api_key_id", "model", "provider", "outcome", "currency", "bucket")
);
CREATE INDEX "usage_rollups_step_time_idx" ON "usage_rollups"("step", "time");

-- By key, by model and by provider, one row per figure with its histogram.
CREATE TABLE "grouped_usage" (
    "account_id" TEXT NOT NULL,
    "step" TEXT NOT NULL,
    "dimension" TEXT NOT NULL,
    "time" TIMESTAMPTZ(3) NOT NULL,
    "name" TEXT NOT NULL,
    "of_model" TEXT NOT NULL,
    "of_provider" TEXT NOT NULL,
    "currency" TEXT NOT NULL,
    "images" BIGINT NOT NULL,
    "failed" BIGINT NOT NULL,
    "chats" BIGINT NOT NULL,
    "unpriced_images" BIGINT NOT NULL,
    "spend_micros" BIGINT NOT NULL,
    "input_tokens" BIGINT NOT NULL,
    "output_tokens" BIGINT NOT NULL,
    "durations" TEXT NOT NULL,

    CONSTRAINT "grouped_usage_pkey" PRIMARY KEY ("account_id", "step", "dimension", "time", "name", "of_model", "of_provider", "currency")
);
CREATE INDEX "grouped_usage_step_time_idx" ON "grouped_usage"("step", "time");
-- Usage without a known price: few rows, or none, among the days of all keys.
CREATE INDEX "grouped_usage_unpriced_idx" ON "grouped_usage"("account_id", "time") WHERE "step" = 'day' AND "dimension" = 'key' AND "currency" = 'XXX';

-- ================================================================ events: webhooks and alerts

-- Where the ends of an account's tasks are told; with a channel, where its alerts are.
CREATE TABLE "webhook_endpoints" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "url" TEXT NOT NULL,
    "events" TEXT[] NOT NULL,
    "channel" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "disabled_at" TIMESTAMPTZ(3),
    "disabled_reason" TEXT,
    "timeouts" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "webhook_endpoints_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "webhook_endpoints_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT "webhook_endpoints_reason_check" CHECK (("disabled_at" IS NULL) = ("disabled_reason" IS NULL))
);
CREATE INDEX "webhook_endpoints_account_id_idx" ON "webhook_endpoints"("account_id");

CREATE TABLE "webhook_secrets" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_secrets_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "webhook_secrets_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE RESTRICT ON UPDATE CASCADE
);
CREATE INDEX "webhook_secrets_account_id_idx" ON "webhook_secrets"("account_id");
-- One secret of an account has no end: of two processes that make its first one, one finds the other's.
CREATE UNIQUE INDEX "webhook_secrets_current_key" ON "webhook_secrets"("account_id") WHERE "expires_at" IS NULL;

-- What is told to one receiver: the end of a task, a test, or an alert ("message"). A test and an alert are of no task.
CREATE TABLE "webhook_deliveries" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "task_id" TEXT,
    "endpoint_id" TEXT,
    "event" TEXT NOT NULL,
    "message" JSONB,
    "state" TEXT NOT NULL DEFAULT 'pending',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "tries" INTEGER NOT NULL DEFAULT 0,
    "epoch" INTEGER NOT NULL DEFAULT 0,
    "next_try_at" TIMESTAMPTZ(3),
    "lease_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "webhook_deliveries_state_check" CHECK ("state" IN ('pending', 'delivered', 'failed')),
    CONSTRAINT "webhook_deliveries_next_check" CHECK (("state" = 'pending') = ("next_try_at" IS NOT NULL)),
    CONSTRAINT "webhook_deliveries_task_check" CHECK (("task_id" IS NULL) = ("event" = 'webhook.test' OR "message" IS NOT NULL))
);
CREATE INDEX "webhook_deliveries_task_id_idx" ON "webhook_deliveries"("task_id");
-- Lists of an account's deliveries: all, and what failed, which is rare in a long history.
CREATE INDEX "webhook_deliveries_account_id_created_at_id_idx" ON "webhook_deliveries"("account_id", "created_at" DESC, "id" DESC);
CREATE INDEX "webhook_deliveries_failed_idx" ON "webhook_deliveries"("account_id", "created_at" DESC, "id" DESC) WHERE "state" = 'failed';
-- How an endpoint has been doing lately, and its own deliveries.
CREATE INDEX "webhook_deliveries_endpoint_id_created_at_id_idx" ON "webhook_deliveries"("endpoint_id", "created_at" DESC, "id" DESC);
-- What retention walks.
CREATE INDEX "webhook_deliveries_created_at_idx" ON "webhook_deliveries"("created_at");
-- The line of each receiver of each account, which the sweep walks in place of all that is due.
CREATE INDEX "webhook_deliveries_line_idx" ON "webhook_deliveries"("account_id", (COALESCE("endpoint_id", '')), "next_try_at")
    WHERE "state" = 'pending';
-- What is being sent, which every claim counts for its account.
CREATE INDEX "webhook_deliveries_leased_idx" ON "webhook_deliveries"("account_id") WHERE "state" = 'pending' AND "lease_until" IS NOT NULL;
-- The oldest delivery that waits, of all accounts: an alert tells of it, however many wait.
CREATE INDEX "webhook_deliveries_oldest_idx" ON "webhook_deliveries"("next_try_at") WHERE "state" = 'pending';

CREATE TABLE "webhook_attempts" (
    "delivery_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "duration_ms" INTEGER,
    "status" INTEGER,
    "error" TEXT,
    -- The beginning of what a receiver answered, for those who look why it refuses.
    "answer" TEXT,

    CONSTRAINT "webhook_attempts_pkey" PRIMARY KEY ("delivery_id", "number"),
    CONSTRAINT "webhook_attempts_delivery_id_fkey" FOREIGN KEY ("delivery_id") REFERENCES "webhook_deliveries"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE "alert_rules" (
    "account_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "enabled" BOOLEAN NOT NULL,
    "thresholds" INTEGER[] NOT NULL,
    "window_minutes" INTEGER NOT NULL,
    "min_tasks" INTEGER NOT NULL,
    "hold_minutes" INTEGER NOT NULL,
    "repeat_hours" INTEGER NOT NULL,
    "channel_ids" TEXT[] NOT NULL,
    -- Whoever moves it forward evaluates the rule: one worker in each interval.
    "evaluated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "alert_rules_pkey" PRIMARY KEY ("account_id", "kind"),
    CONSTRAINT "alert_rules_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE "alert_events" (
    "id" TEXT NOT NULL,
    "account_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "level" INTEGER NOT NULL,
    "title" TEXT NOT NULL,
    "text" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "fired_at" TIMESTAMPTZ(3),
    "notified_at" TIMESTAMPTZ(3),
    "clear_since" TIMESTAMPTZ(3),
    "clear_minutes" INTEGER NOT NULL,
    "resolved_at" TIMESTAMPTZ(3),
    -- Fence: each change names the version that it was decided on.
    "version" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "alert_events_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "alert_events_account_id_fkey" FOREIGN KEY ("account_id") REFERENCES "accounts"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "alert_events_state_check" CHECK ("state" IN ('pending', 'firing', 'resolved')),
    CONSTRAINT "alert_events_resolved_check" CHECK (("state" = 'resolved') = ("resolved_at" IS NOT NULL))
);
-- One alert of a subject is open at a time: of two workers that see it begin, one writes it.
CREATE UNIQUE INDEX "alert_events_open_key" ON "alert_events"("account_id", "kind", "subject") WHERE "resolved_at" IS NULL;
-- Pages of all alerts, and of the kinds that members may read, when an account has few of them.
CREATE INDEX "alert_events_account_id_id_idx" ON "alert_events"("account_id", "id" DESC);
CREATE INDEX "alert_events_account_id_kind_id_idx" ON "alert_events"("account_id", "kind", "id" DESC);

-- ================================================================ providers

-- Providers that get no new calls. A row is there for as long as its provider is drained.
CREATE TABLE "provider_switches" (
    "provider" TEXT NOT NULL,
    "drained_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "reason" TEXT,

    CONSTRAINT "provider_switches_pkey" PRIMARY KEY ("provider")
);

-- What the console adds to models.yaml: one row for each state it had, so that changes can be undone.
CREATE TABLE "catalog_revisions" (
    "number" INTEGER NOT NULL,
    -- JSON, not JSONB: models and routes keep their order.
    "entries" JSON NOT NULL,
    "key_ids" TEXT[],
    "action" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "author" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "catalog_revisions_pkey" PRIMARY KEY ("number")
);

-- Keys of the providers that it names, sealed.
CREATE TABLE "provider_keys" (
    "id" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "provider_keys_pkey" PRIMARY KEY ("id")
);

-- ================================================================ functions and triggers of people

-- An account that has an admin has an owner: the first admin is one, and so is the next when the last owner is none any more.
CREATE FUNCTION "people_owner"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.role <> 'admin' THEN
    NEW.owner := false;
  ELSIF NOT NEW.owner AND NEW.disabled_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM people
    WHERE account_id = NEW.account_id AND id <> NEW.id AND owner AND disabled_at IS NULL) THEN
    NEW.owner := true;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER "people_owner" BEFORE INSERT OR UPDATE OF "role" ON "people"
  FOR EACH ROW EXECUTE FUNCTION "people_owner"();

-- Whoever gets a password or an identity of their own must not come to the other accounts of the user with it.
CREATE FUNCTION "people_signs_in_as"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.password_hash IS NOT NULL OR NEW.openid_subject IS NOT NULL THEN
    NEW.signs_in_as := NULL;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER "people_signs_in_as" BEFORE UPDATE OF "password_hash", "openid_subject" ON "people"
  FOR EACH ROW EXECUTE FUNCTION "people_signs_in_as"();

-- ================================================================ functions and triggers of tasks

-- Terminal states never change, whoever writes.
CREATE FUNCTION "tasks_refuse_revival"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'task % is already %', OLD.id, OLD.status USING ERRCODE = 'check_violation';
END;
$$;
CREATE TRIGGER "tasks_final" BEFORE UPDATE OF "status" ON "tasks"
    FOR EACH ROW WHEN (OLD."status" <> 'pending' AND NEW."status" <> OLD."status")
    EXECUTE FUNCTION "tasks_refuse_revival"();

-- The outbox: whoever ends a task, its deliveries are written in the same transaction, so no event can be lost between
-- the two. Tasks of callers who waited for their answer don't even call the function.
CREATE FUNCTION "tasks_tell_end"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "webhook_deliveries" ("id", "account_id", "task_id", "endpoint_id", "event", "next_try_at")
    SELECT 'whd_' || replace(gen_random_uuid()::text, '-', ''), NEW."account_id", NEW."id", "target"."endpoint_id",
        'image.task.' || NEW."status", now()
    FROM (
        SELECT NULL AS "endpoint_id" WHERE NEW."callback_url" IS NOT NULL
        UNION ALL
        SELECT "id" FROM "webhook_endpoints"
        WHERE "account_id" = NEW."account_id" AND "disabled_at" IS NULL AND NEW."asynchronous"
            AND ('image.task.' || NEW."status") = ANY ("events")
    ) AS "target";
    RETURN NULL;
END;
$$;
CREATE TRIGGER "tasks_ended" AFTER UPDATE OF "status" ON "tasks"
    FOR EACH ROW WHEN (OLD."status" = 'pending' AND NEW."status" <> 'pending'
        AND (NEW."asynchronous" OR NEW."callback_url" IS NOT NULL))
    EXECUTE FUNCTION "tasks_tell_end"();

-- Whether the first try of a call may insert its task: no equal request is being accepted at this moment, or has a task
-- that this one may be about. The lock of equal requests is held until the end of the transaction. plpgsql, because each
-- of its statements sees what was committed before that statement, and so everything that an earlier holder of the lock
-- has written; the statement that calls it would see only what was committed before itself.
--
-- A task of an equal request is one that this request gets instead
-- - if its last caller left without the outcome at most "attach_window_ms" ago,
-- - if it failed in the last minute and may have been charged,
-- - if its caller waits at another process than "here", which has yet to be asked whether it still does; not if "seen"
--   names it, because that process was asked. The process of a caller that gets only the task is asked for
--   "attach_window_ms", and so is that of one whose task was completed,
-- - if a retry made it, or attached to it, after this request arrived "age_ms" ago: then this is the try before it. For
--   a task that is not finished, "underway_ms" are added, for which this statement may have been on its way.
--
-- Each part has its own index and order: otherwise Postgres, expecting an early match, would scan all tasks when
-- thousands of equal requests do not match.
CREATE FUNCTION "first_try_may_insert"("request" BYTEA, "api_key" TEXT, "attach_window_ms" FLOAT8, "here" TEXT, "seen" TEXT[],
  "age_ms" FLOAT8, "underway_ms" FLOAT8) RETURNS BOOLEAN LANGUAGE plpgsql AS $$
DECLARE
  "window_began" TIMESTAMPTZ := now() - "attach_window_ms" * interval '1 millisecond';
  "arrived" TIMESTAMPTZ := now() - "age_ms" * interval '1 millisecond';
BEGIN
  IF NOT pg_try_advisory_xact_lock(hashtextextended("api_key" || ' ' || encode("request", 'hex'), 0)) THEN
    RETURN false;
  END IF;
  RETURN NOT EXISTS (
    (SELECT 1 FROM "tasks" WHERE "fingerprint" = "request" AND "api_key_id" = "api_key" AND "abandoned_at" > "window_began"
        AND "delivered_at" IS NULL AND "status" IN ('pending', 'completed')
      ORDER BY "abandoned_at" LIMIT 1)
    UNION ALL
    (SELECT 1 FROM "tasks" WHERE "fingerprint" = "request" AND "api_key_id" = "api_key" AND "status" = 'failed'
        AND "finished_at" > now() - interval '60 seconds'
        AND "calls"->-1->>'free' = 'false' AND COALESCE("calls"->-1->>'charged', 'maybe') <> 'no'
      ORDER BY "finished_at" LIMIT 1)
    UNION ALL
    (SELECT 1 FROM "tasks" WHERE "fingerprint" = "request" AND "api_key_id" = "api_key" AND "status" = 'pending'
        AND "waiter" < "here" AND (NOT "asynchronous" OR "created_at" > "window_began") AND "id" <> ALL ("seen")
      ORDER BY "waiter" LIMIT 1)
    UNION ALL
    (SELECT 1 FROM "tasks" WHERE "fingerprint" = "request" AND "api_key_id" = "api_key" AND "status" = 'pending'
        AND "waiter" > "here" AND (NOT "asynchronous" OR "created_at" > "window_began") AND "id" <> ALL ("seen")
      ORDER BY "waiter" LIMIT 1)
    UNION ALL
    (SELECT 1 FROM "tasks" WHERE "fingerprint" = "request" AND "api_key_id" = "api_key" AND "status" = 'completed'
        AND "finished_at" > "window_began" AND "waiter" <> "here" AND "abandoned_at" IS NULL AND "delivered_at" IS NULL
        AND "id" <> ALL ("seen")
      ORDER BY "finished_at" LIMIT 1)
    UNION ALL
    (SELECT 1 FROM "tasks" WHERE "fingerprint" = "request" AND "api_key_id" = "api_key" AND "attached_by" IS NOT NULL
        AND "created_at" > "arrived" - "underway_ms" * interval '1 millisecond'
        AND ("finished_at" IS NULL OR "created_at" > "arrived")
      ORDER BY "created_at" LIMIT 1));
END
$$;

-- ================================================================ functions and triggers of money and usage
--
-- As libs/billing/ledger.sql has them, which says how they go together; test/medium/ledger.spec.ts compares the two.

-- ---------------------------------------------------------------- budgets

-- The start of the calendar month, in UTC.
CREATE OR REPLACE FUNCTION "month_of"("at" TIMESTAMPTZ) RETURNS TIMESTAMPTZ LANGUAGE sql IMMUTABLE AS $$
    SELECT date_trunc('month', "at" AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'
$$;

-- What is spent of a budget at a time: nothing yet when its month is over.
CREATE OR REPLACE FUNCTION "budget_spent"("budget" "budgets", "at" TIMESTAMPTZ) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN "budget"."period" = 'month' AND "budget"."period_start" < "month_of"("at") THEN 0
        ELSE "budget"."spent_micros" END
$$;

-- The owner of the budget that an account (itself) or a key uses: a key and its replacements share that of the first.
CREATE OR REPLACE FUNCTION "budget_of"("id" TEXT) RETURNS TEXT LANGUAGE sql STABLE AS $$
    SELECT COALESCE((SELECT "original_key_id" FROM "api_keys" WHERE "api_keys"."id" = "budget_of"."id"), "budget_of"."id")
$$;

-- Adds an amount spent at a time to the budgets, or subtracts it when negative; months that are over stay as they are.
-- The account always comes before the key.
CREATE OR REPLACE FUNCTION "budgets_count"("account" TEXT, "key" TEXT, "amount" BIGINT, "at" TIMESTAMPTZ) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    "who" TEXT;
BEGIN
    FOREACH "who" IN ARRAY ARRAY["account", "budget_of"("key")] LOOP
        UPDATE "budgets" SET "spent_micros" = GREATEST("budget_spent"("budgets", "at") + "amount", 0),
            "period_start" = GREATEST("period_start", "month_of"("at"))
        WHERE "owner_id" = "who" AND ("period" = 'total' OR "period_start" <= "month_of"("at"));
    END LOOP;
END;
$$;

-- ---------------------------------------------------------------- tasks

-- Accepting a task: the same statement writes its reserve, or fails and leaves no task.
-- DR402: a budget is not enough; DR403: there is a budget, but no known price (budget-refusal.ts).
CREATE OR REPLACE FUNCTION "tasks_reserve"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "amount" BIGINT := (NEW."cost" ->> 'reserved')::bigint;
    "who" TEXT;
    "budget" "budgets";
    "left" BIGINT;
    "at" TIMESTAMPTZ;
BEGIN
    FOREACH "who" IN ARRAY ARRAY[NEW."account_id", "budget_of"(NEW."api_key_id")] LOOP
        SELECT * INTO "budget" FROM "budgets" WHERE "owner_id" = "who" FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
        IF "amount" IS NULL THEN
            RAISE EXCEPTION 'the price is not known' USING ERRCODE = 'DR403', DETAIL = "budget"."owner";
        END IF;
        "left" := GREATEST("budget"."limit_micros" - "budget_spent"("budget", clock_timestamp()), 0);
        IF "amount" > "left" THEN
            RAISE EXCEPTION 'the budget does not suffice' USING ERRCODE = 'DR402', DETAIL = json_build_object(
                'owner', "budget"."owner", 'period', "budget"."period", 'left', "left")::text;
        END IF;
    END LOOP;
    -- Taken when the budgets are ours: a month begins for all who count in the order in which they do.
    "at" := clock_timestamp();
    INSERT INTO "charges" ("task_id", "kind", "amount_micros", "currency", "account_id", "api_key_id", "model", "created_at")
    VALUES (NEW."id", 'reserve', "amount", NEW."cost" ->> 'currency', NEW."account_id", NEW."api_key_id", NEW."model", "at");
    IF "amount" > 0 THEN
        PERFORM "budgets_count"(NEW."account_id", NEW."api_key_id", "amount", "at");
        IF NEW."status" = 'pending' THEN
            INSERT INTO "task_reserves" ("task_id", "account_id", "api_key_id", "model", "currency", "amount_micros", "reserved_at", "hour")
            VALUES (NEW."id", NEW."account_id", NEW."api_key_id", NEW."model", NEW."cost" ->> 'currency', "amount", "at",
                date_trunc('hour', NEW."created_at", 'UTC'));
        END IF;
    END IF;
    RETURN NEW;
END;
$$;

CREATE OR REPLACE TRIGGER "tasks_reserve" BEFORE INSERT ON "tasks"
    FOR EACH ROW WHEN (NEW."cost" IS NOT NULL) EXECUTE FUNCTION "tasks_reserve"();

-- Ending or deleting a task: the same statement settles its cost and refunds the rest.
-- In a task of several images ("cost" -> 'n'), each delivered image costs its part of the reserve. Images priced by tokens
-- never cost more than that, and exactly that when the tokens were not counted. A canceled task settles what a provider
-- may have charged for it, or the share that its price sets; a failed task costs nothing.
CREATE OR REPLACE FUNCTION "tasks_settle"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "reserved" BIGINT := (OLD."cost" ->> 'reserved')::bigint;
    "n" INTEGER := COALESCE((OLD."cost" ->> 'n')::int, 1);
    "billed" BOOLEAN := TG_OP = 'UPDATE' AND NEW."status" = 'completed';
    "settled" BIGINT := 0;
    "share" NUMERIC;
    "tokens" JSONB := OLD."cost" -> 'tokens';
    "at" TIMESTAMPTZ;
BEGIN
    IF "billed" THEN
        -- LEAST passes over what is not known.
        "settled" := CASE WHEN "reserved" IS NOT NULL THEN LEAST("reserved" / "n" * LEAST(jsonb_array_length(NEW."images"), "n"), ceil((
            (NEW."usage" ->> 'input_tokens')::numeric * ("tokens" ->> 'input')::numeric +
            (NEW."usage" ->> 'output_tokens')::numeric * ("tokens" ->> 'output')::numeric) / 1000000))::bigint END;
    ELSIF TG_OP = 'UPDATE' AND NEW."status" = 'cancelled' THEN
        SELECT max(COALESCE((OLD."cost" ->> 'cancelled')::numeric, CASE WHEN "call" -> 'free' = 'true' THEN 0 ELSE 1 END))
            INTO "share" FROM jsonb_array_elements(OLD."calls") AS "call"
            WHERE NOT "call" ? 'endedAt' OR "call" ->> 'charged' IS DISTINCT FROM 'no';
        IF "share" > 0 THEN
            "billed" := true;
            "settled" := ceil("reserved" * "share")::bigint;
        END IF;
    END IF;
    DELETE FROM "task_reserves" WHERE "task_id" = OLD."id" RETURNING "reserved_at" INTO "at";
    INSERT INTO "charges" ("task_id", "kind", "amount_micros", "currency", "account_id", "api_key_id", "model", "created_at")
    SELECT OLD."id", "kind", "amount", OLD."cost" ->> 'currency', OLD."account_id", OLD."api_key_id", OLD."model", clock_timestamp()
    FROM (VALUES ('settle', "settled", "billed"),
        ('refund', "reserved" - "settled", NOT "billed" OR "reserved" > "settled")) AS "row" ("kind", "amount", "written")
    WHERE "written";
    IF "reserved" > "settled" THEN
        PERFORM "budgets_count"(OLD."account_id", OLD."api_key_id", "settled" - "reserved", "at");
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN OLD;
    END IF;
    NEW."cost" := OLD."cost" || jsonb_build_object('settled', "settled");
    RETURN NEW;
END;
$$;

CREATE OR REPLACE TRIGGER "tasks_settle" BEFORE UPDATE OF "status" ON "tasks"
    FOR EACH ROW WHEN (OLD."cost" IS NOT NULL AND OLD."status" = 'pending' AND NEW."status" <> 'pending')
    EXECUTE FUNCTION "tasks_settle"();
CREATE OR REPLACE TRIGGER "tasks_take_back" BEFORE DELETE ON "tasks"
    FOR EACH ROW WHEN (OLD."cost" IS NOT NULL AND OLD."status" = 'pending') EXECUTE FUNCTION "tasks_settle"();

-- ---------------------------------------------------------------- chats

-- Refuses a chat whose budget is used up, or whose price is unknown, like tasks_reserve; otherwise reserves the amount.
-- The last accepted chat may cost more than is left. Without a budget, nothing is written.
CREATE OR REPLACE FUNCTION "chat_reserve"("request" TEXT, "account" TEXT, "key" TEXT, "amount" BIGINT, "life_ms" INTEGER) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    "who" TEXT;
    "budget" "budgets";
    "bound" BOOLEAN := false;
    "at" TIMESTAMPTZ;
BEGIN
    FOREACH "who" IN ARRAY ARRAY["account", "budget_of"("key")] LOOP
        SELECT * INTO "budget" FROM "budgets" WHERE "owner_id" = "who" FOR UPDATE;
        CONTINUE WHEN NOT FOUND;
        "bound" := true;
        IF "amount" IS NULL THEN
            RAISE EXCEPTION 'the price is not known' USING ERRCODE = 'DR403', DETAIL = "budget"."owner";
        END IF;
        IF "budget_spent"("budget", clock_timestamp()) >= "budget"."limit_micros" THEN
            RAISE EXCEPTION 'the budget is used up' USING ERRCODE = 'DR402', DETAIL = json_build_object(
                'owner', "budget"."owner", 'period', "budget"."period", 'left', 0)::text;
        END IF;
    END LOOP;
    IF "bound" AND "amount" > 0 THEN
        "at" := clock_timestamp();
        INSERT INTO "chat_reserves" ("request_id", "account_id", "api_key_id", "amount_micros", "created_at", "expires_at")
        VALUES ("request", "account", "key", "amount", "at", "at" + "life_ms" * interval '1 millisecond');
        PERFORM "budgets_count"("account", "key", "amount", "at");
    END IF;
END;
$$;

-- Deleting a reserve's row always releases the reserve.
CREATE OR REPLACE FUNCTION "chat_reserves_release"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM "budgets_count"(OLD."account_id", OLD."api_key_id", -OLD."amount_micros", OLD."created_at");
    RETURN OLD;
END;
$$;

CREATE OR REPLACE TRIGGER "chat_reserves_release" BEFORE DELETE ON "chat_reserves"
    FOR EACH ROW EXECUTE FUNCTION "chat_reserves_release"();

-- Recording chats counts their cost, and releases their reserves.
CREATE OR REPLACE FUNCTION "chats_count"() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    "spent" RECORD;
BEGIN
    INSERT INTO "usage_changes" ("reference", "kind", "account_id", "api_key_id", "model", "provider", "outcome", "currency",
        "created_at", "images", "spend_micros", "input_tokens", "output_tokens", "latency_ms")
    SELECT "request_id", 'chat', "account_id", "api_key_id", "model", "provider", "outcome",
        CASE WHEN "cost_micros" IS NULL THEN 'XXX' ELSE '' END, "created_at", 0,
        COALESCE("cost_micros", 0), COALESCE("input_tokens", 0), COALESCE("output_tokens", 0),
        CASE WHEN "outcome" = 'completed' THEN "duration_ms" END
    FROM "added";
    IF EXISTS (SELECT 1 FROM "added" WHERE "cost_micros" > 0)
        OR EXISTS (SELECT 1 FROM "added" JOIN "chat_reserves" USING ("request_id")) THEN
        PERFORM pg_advisory_xact_lock(hashtext('budgets of many'));
        FOR "spent" IN SELECT "account_id", "api_key_id", "month_of"("created_at") AS "at", sum("cost_micros")::bigint AS "amount"
            FROM "added" WHERE "cost_micros" > 0 GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
        LOOP
            PERFORM "budgets_count"("spent"."account_id", "spent"."api_key_id", "spent"."amount", "spent"."at");
        END LOOP;
        DELETE FROM "chat_reserves" USING "added" WHERE "chat_reserves"."request_id" = "added"."request_id";
    END IF;
    RETURN NULL;
END;
$$;

CREATE OR REPLACE TRIGGER "chats_count" AFTER INSERT ON "chat_usage" REFERENCING NEW TABLE AS "added"
    FOR EACH STATEMENT EXECUTE FUNCTION "chats_count"();

-- ---------------------------------------------------------------- usage
--
-- Each task or chat that ends inserts its own row into usage_changes, without contention. A worker rolls those rows up into
-- usage_rollups and spend_totals (billing.sql.ts), and a trigger into grouped_usage; readers add the rows that are still
-- in usage_changes. Usage without a known price has the currency XXX, ISO 4217's code for none, so that totals can say what
-- they leave out.

-- The histogram bucket of a duration: each ends a quarter of an octave above the previous one; -1 without a duration.
CREATE OR REPLACE FUNCTION "latency_bucket"("ms" BIGINT) RETURNS SMALLINT LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN "ms" IS NULL THEN -1 ELSE ceil(4 * ln(GREATEST("ms", 1)::float8) / ln(2::float8)) END::smallint
$$;

-- The bucket for percentiles: only completed tasks have one, everything else has -1.
CREATE OR REPLACE FUNCTION "usage_bucket"("kind" TEXT, "outcome" TEXT, "bucket" SMALLINT) RETURNS SMALLINT LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN "kind" = 'image' AND "outcome" = 'completed' THEN "bucket" ELSE -1 END::smallint
$$;

-- Adds changes of usage_rollups by key, by model and by provider, one row per figure: a query by one of them then reads as many
-- rows as it answers, however many of the others there are. A query with filters reads the rows of each key with each model and
-- provider. Durations are bucket:count:milliseconds of each bucket that has any, separated by spaces: queries return this text as
-- it is, and the API merges it (libs/billing/duration-histogram.ts).
CREATE OR REPLACE FUNCTION "grouped_usage"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format($add$
        INSERT INTO "grouped_usage" AS "known" ("account_id", "step", "dimension", "time", "name", "of_model", "of_provider", "currency",
            "images", "failed", "chats", "unpriced_images", "spend_micros", "input_tokens", "output_tokens", "durations")
        SELECT "account_id", "step", "dimension", "time", "name", "of_model", "of_provider", "currency",
            sum("images"), sum("failed"), sum("chats"), sum("unpriced_images"), sum("spend_micros"), sum("input_tokens"), sum("output_tokens"),
            COALESCE(string_agg("bucket" || ':' || "count" || ':' || "latency_ms", ' ' ORDER BY "bucket") FILTER (WHERE "bucket" >= 0), '')
        FROM (SELECT "account_id", "step", "dimension", "time", "name", "of_model", "of_provider", "currency",
                "usage_bucket"("kind", "outcome", "bucket") AS "bucket",
                sum("sign" * "count") AS "count", sum("sign" * "images") AS "images",
                sum(CASE WHEN "kind" = 'image' AND "outcome" = 'failed' THEN "sign" * "count" ELSE 0 END) AS "failed",
                sum(CASE WHEN "kind" = 'chat' THEN "sign" * "count" ELSE 0 END) AS "chats",
                sum(CASE WHEN "kind" = 'image' AND "currency" = 'XXX' THEN "sign" * GREATEST("images", "count") ELSE 0 END) AS "unpriced_images",
                sum("sign" * "spend_micros") AS "spend_micros", sum("sign" * "input_tokens") AS "input_tokens",
                sum("sign" * "output_tokens") AS "output_tokens", sum("sign" * "latency_ms") AS "latency_ms"
            FROM (%s) AS "changes", LATERAL (VALUES
                ('key', "api_key_id", '', ''), ('model', "model", '', ''), ('provider', "provider", '', ''),
                ('each', "api_key_id", "model", "provider")) AS "groups" ("dimension", "name", "of_model", "of_provider")
            GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9) AS "parts"
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
        ON CONFLICT ("account_id", "step", "dimension", "time", "name", "of_model", "of_provider", "currency") DO UPDATE SET
            "images" = "known"."images" + EXCLUDED."images", "failed" = "known"."failed" + EXCLUDED."failed",
            "chats" = "known"."chats" + EXCLUDED."chats", "unpriced_images" = "known"."unpriced_images" + EXCLUDED."unpriced_images",
            "spend_micros" = "known"."spend_micros" + EXCLUDED."spend_micros",
            "input_tokens" = "known"."input_tokens" + EXCLUDED."input_tokens",
            "output_tokens" = "known"."output_tokens" + EXCLUDED."output_tokens",
            "durations" = CASE '' WHEN EXCLUDED."durations" THEN "known"."durations" WHEN "known"."durations" THEN EXCLUDED."durations"
                ELSE (SELECT string_agg("bucket" || ':' || "count" || ':' || "ms", ' ' ORDER BY "bucket")
                    FROM (SELECT "part"[1]::smallint AS "bucket", sum("part"[2]::bigint) AS "count", sum("part"[3]::bigint) AS "ms"
                        FROM (SELECT string_to_array("text", ':') AS "part"
                            FROM string_to_table("known"."durations" || ' ' || EXCLUDED."durations", ' ') AS "text" OFFSET 0) AS "parts"
                        GROUP BY 1) AS "merged") END
        $add$, CASE TG_OP WHEN 'INSERT' THEN 'SELECT *, 1 AS "sign" FROM "added"'
            ELSE 'SELECT *, 1 AS "sign" FROM "added" UNION ALL SELECT *, -1 FROM "replaced"' END);
    RETURN NULL;
END;
$$;

CREATE OR REPLACE TRIGGER "grouped_usage_added" AFTER INSERT ON "usage_rollups" REFERENCING NEW TABLE AS "added"
    FOR EACH STATEMENT EXECUTE FUNCTION "grouped_usage"();
CREATE OR REPLACE TRIGGER "grouped_usage_changed" AFTER UPDATE ON "usage_rollups"
    REFERENCING OLD TABLE AS "replaced" NEW TABLE AS "added" FOR EACH STATEMENT EXECUTE FUNCTION "grouped_usage"();

-- Usage of an ended task. In `charges`, a task counts in the month of its reserve; in usage, in the hour of its acceptance.
CREATE OR REPLACE FUNCTION "tasks_usage"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "usage_changes" ("reference", "kind", "account_id", "api_key_id", "model", "provider", "outcome", "currency",
        "created_at", "images", "spend_micros", "input_tokens", "output_tokens", "latency_ms")
    VALUES (NEW."id", 'image', NEW."account_id", NEW."api_key_id", NEW."model", COALESCE(NEW."provider", ''), NEW."status",
        CASE WHEN NEW."cost" IS NOT NULL AND NEW."status" IN ('completed', 'cancelled')
                AND COALESCE(NEW."cost" ->> 'settled', NEW."cost" ->> 'reserved') IS NULL THEN 'XXX'
            ELSE COALESCE(NEW."cost" ->> 'currency', '') END, NEW."created_at",
        CASE WHEN NEW."status" = 'completed' THEN GREATEST(jsonb_array_length(NEW."images"), 1) ELSE 0 END,
        CASE WHEN NEW."status" IN ('completed', 'cancelled')
            THEN COALESCE((NEW."cost" ->> 'settled')::bigint, (NEW."cost" ->> 'reserved')::bigint, 0) ELSE 0 END,
        COALESCE((NEW."usage" ->> 'input_tokens')::bigint, 0), COALESCE((NEW."usage" ->> 'output_tokens')::bigint, 0),
        CASE WHEN NEW."status" = 'completed'
            THEN round(EXTRACT(EPOCH FROM NEW."finished_at" - NEW."created_at") * 1000)::bigint END);
    RETURN NULL;
END;
$$;

CREATE OR REPLACE TRIGGER "tasks_usage" AFTER UPDATE OF "status" ON "tasks"
    FOR EACH ROW WHEN (OLD."status" = 'pending' AND NEW."status" <> 'pending') EXECUTE FUNCTION "tasks_usage"();
CREATE OR REPLACE TRIGGER "tasks_usage_at_once" AFTER INSERT ON "tasks"
    FOR EACH ROW WHEN (NEW."status" <> 'pending') EXECUTE FUNCTION "tasks_usage"();

-- Spend of these accounts and keys, by key and by the month in which it counts: rolled up, not rolled up yet, and reserved
-- for tasks that have not ended. Chats have no currency of their own. A task counts in the month of its reserve, which is
-- written after its acceptance: so the charge of an ended task is looked up only when the task is from before this month.
CREATE OR REPLACE FUNCTION "spend_of"("accounts" TEXT[], "keys" TEXT[])
RETURNS TABLE ("account_id" TEXT, "api_key_id" TEXT, "month" TIMESTAMPTZ, "currency" TEXT, "amount" BIGINT) LANGUAGE sql STABLE AS $$
    SELECT "account_id", "api_key_id", "month", "currency", "amount_micros" FROM "spend_totals"
    WHERE "account_id" = ANY ("accounts") OR "api_key_id" = ANY ("keys")
    UNION ALL
    -- Each reserve is looked up by itself: joined, the planner would rather read all charges.
    SELECT "account_id", "api_key_id",
        CASE WHEN "created_at" >= "this"."month" THEN "this"."month"
            ELSE "month_of"(COALESCE((SELECT "reserve"."created_at" FROM "charges" AS "reserve"
                WHERE "reserve"."task_id" = "reference" AND "reserve"."kind" = 'reserve'), "created_at")) END,
        "currency", "spend_micros"
    FROM "usage_changes", (SELECT "month_of"(statement_timestamp()) AS "month" OFFSET 0) AS "this"
    WHERE ("account_id" = ANY ("accounts") OR "api_key_id" = ANY ("keys")) AND "spend_micros" <> 0
    UNION ALL
    SELECT "account_id", "api_key_id", CASE WHEN "reserved_at" >= "this"."month" THEN "this"."month" ELSE "month_of"("reserved_at") END,
        "currency", "amount_micros"
    FROM "task_reserves", (SELECT "month_of"(statement_timestamp()) AS "month" OFFSET 0) AS "this"
    WHERE "account_id" = ANY ("accounts") OR "api_key_id" = ANY ("keys")
$$;
