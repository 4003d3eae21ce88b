import { Injectable } from '@nestjs/common';
import { timelineOf } from '#answers/task-timeline.js';
import type { TaskView } from '#contract/task-view.js';
import { MAX_PROMPT_LENGTH } from '#contract/text-rules.js';
import { TaskDetails, type SentImage, type TaskDetail } from '#tasks/reading/task-details.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import type { TaskHistory, TaskSummary } from '#tasks/row/task.js';
import { DeliveryLog, type LoggedDelivery } from '#notifications/deliveries/delivery-log.js';
import { shownUrl } from '#notifications/endpoint-store.js';
import {
  optionsView,
  taskRow,
  type ConsoleTaskEventView,
  type ConsoleTaskRow,
  type ConsoleTaskView,
  type SentImageView,
  type TaskDeliveryView,
} from './dto/task-views.dto.js';
import { CONSOLE_API } from '../protect-console.js';
import { withCallbackUrls } from './callback-urls.js';
import { ShownImages } from './shown-images.js';
import { ShownWaits, type DetailedTask, type ShownWait } from './shown-waits.js';
import type { TaskViewer } from './visible-tasks.js';

const SHOWN_PROMPT = 200;
const MAX_DELIVERIES = 100;

/** An account's tasks, as its users see them. */
@Injectable()
export class ShownTasks {
  constructor(
    private readonly tasks: TaskStore,
    private readonly details: TaskDetails,
    private readonly deliveries: DeliveryLog,
    private readonly images: ShownImages,
    private readonly waits: ShownWaits,
  ) {}

  /** List rows, with shortened prompts. */
  async rows(accountId: string, tasks: readonly TaskSummary[]): Promise<ConsoleTaskRow[]> {
    return (await this.rowsWithImages(accountId, tasks)).map(({ task }) => task);
  }

  /** The same, each with the reference images of its request. */
  async rowsWithImages(accountId: string, tasks: readonly TaskSummary[]) {
    const details = await this.details.of(
      accountId,
      tasks.map(({ id }) => id),
      SHOWN_PROMPT,
    );
    const all = tasks.map((task) => ({ task, detail: details.get(task.id) ?? deletedTask(task.id) }));
    const waits = await this.waits.of(all);
    return all.map(({ task, detail }) => ({
      task: this.row({ task, detail }, this.images.view(task, detail), waits.get(task.id)),
      reference_images: detail.inputs.map((input, index) => sentImageView(detail, input, String(index))),
    }));
  }

  /** A task with all details. */
  async view(viewer: TaskViewer, task: TaskSummary): Promise<ConsoleTaskView> {
    const { accountId } = viewer;
    const [details, history, deliveries] = await Promise.all([
      this.details.of(accountId, [task.id], MAX_PROMPT_LENGTH),
      this.tasks.history(viewer, task.id),
      this.deliveries.list(accountId, { taskId: task.id, limit: MAX_DELIVERIES }),
    ]);
    const detail = details.get(task.id) ?? deletedTask(task.id);
    const wait = await this.waits.ofOne(viewer, { task, detail });
    const view = this.images.view(task, detail, wait?.place);
    return {
      ...this.row({ task, detail }, view, wait),
      request_id: task.requestId,
      options: optionsView(task.options),
      ...(view.estimated_time === undefined || !this.waits.hasEstimate(task, wait)
        ? {}
        : { estimated_time: view.estimated_time }),
      ...(view.sizes === undefined ? {} : { sizes: view.sizes }),
      ...(view.provenance === undefined ? {} : { provenance: view.provenance }),
      images: this.images.of(view, detail),
      images_expire_at: this.images.expireAt(task, detail)?.toISOString() ?? null,
      most_calls: this.details.mostCalls,
      reference_images: detail.inputs.map((input, index) => sentImageView(detail, input, String(index))),
      mask: detail.mask === null ? null : sentImageView(detail, detail.mask, 'mask'),
      markup: detail.markup === null ? null : sentImageView(detail, detail.markup, 'mask'),
      warnings: view.warnings ?? [],
      retry_of: detail.retryOf,
      end_user: detail.endUser,
      tags: detail.tags,
      timeline: history === undefined ? [] : consoleTimeline(history, viewer),
      webhook_deliveries: (await withCallbackUrls(this.tasks, accountId, deliveries)).map((delivery) =>
        deliveryOfTask(delivery, viewer),
      ),
    };
  }

  private row({ task, detail }: DetailedTask, view: TaskView, wait: ShownWait | undefined): ConsoleTaskRow {
    return taskRow(task, view, detail, {
      waiting: wait?.reason ?? null,
      position: wait?.position ?? null,
      thumbnailUrl: this.images.thumbnailOf(task, detail),
      isSandbox: this.images.isSandbox(detail),
    });
  }
}

/** Providers' messages may reveal the operator's account with them, so only operators see them. */
function consoleTimeline(history: TaskHistory, { isOperator }: TaskViewer): ConsoleTaskEventView[] {
  const calls = history.calls.values();
  return timelineOf(history).map((step) => {
    if (step.event !== 'provider_call') return step;
    const { status, providerMessage, storingMs, endedAt } = calls.next().value ?? {};
    return {
      ...step,
      ...(storingMs === undefined || endedAt === undefined
        ? {}
        : { answered: (Date.parse(endedAt) - storingMs) / 1_000 }),
      ...(status === undefined ? {} : { provider_status: status }),
      ...(providerMessage === undefined || !isOperator ? {} : { provider_message: providerMessage }),
    };
  });
}

/** `name`: the image's name for TaskInputs. */
function sentImageView(
  { id, objectsDeletedAt }: TaskDetail,
  { host, isDeleted }: SentImage,
  name: string,
): SentImageView {
  const isKept = host === null && !isDeleted && objectsDeletedAt === null;
  return { host, url: isKept ? `${CONSOLE_API}/tasks/${id}/inputs/${name}` : null };
}

function deliveryOfTask(
  { id, url: whole, state, createdAt, attempts }: LoggedDelivery,
  { managesWebhooks }: TaskViewer,
): TaskDeliveryView {
  const url = whole === null || managesWebhooks ? whole : shownUrl(whole);
  const last = attempts.at(-1);
  const end = last === undefined ? undefined : new Date(last.startedAt.getTime() + (last.durationMs ?? 0));
  return {
    id,
    url,
    status: state,
    attempts: attempts.length,
    last_status: last?.status ?? null,
    created_at: createdAt.toISOString(),
    delivered_at: state === 'delivered' ? (end?.toISOString() ?? null) : null,
  };
}

/** Stands in for a task whose row was deleted between two reads. */
function deletedTask(id: string): TaskDetail {
  return {
    id,
    prompt: '',
    keyId: '',
    keyName: '',
    inputs: [],
    mask: null,
    markup: null,
    hasThumbnail: false,
    objectsDeletedAt: null,
    retryOf: null,
    provider: null,
    calls: 0,
    nextTryAt: null,
    orderedBy: null,
    isFavorite: false,
    retriedAs: null,
    endUser: null,
    tags: [],
  };
}
