import { Text, VisuallyHidden, type TextProps } from '@mantine/core';
import { waitingText } from '#contract/waiting.js';
import type { TaskDetail, TaskRow, TimelineEvent } from '../api/types.ts';
import { clockSpan, duration } from './format.ts';
import { useNow } from './use-now.ts';

type WaitingTask = Pick<TaskRow, 'status' | 'phase' | 'waiting' | 'position'>;

/** Whether a task waits to be approved, to be started, or to be tried again. */
export function isWaiting({ status, phase }: Pick<TaskRow, 'status' | 'phase'>): boolean {
  return status === 'pending' && (phase === 'queued' || phase === 'held');
}

/** "Waiting for studio: unavailable, next try in 19 s"; without `now`, no time, for what is announced. */
export function waitText({ waiting, position }: WaitingTask, now?: number): string {
  return waiting === null ? 'Waiting' : waitingText(waiting, now, position);
}

/**
 * What a pending task does: the result of its last attempt, why it waits, its position, and for how long; or which
 * attempt runs. `said`: whether changes are announced here, without the clock.
 */
export function Attempt({
  task,
  said = false,
  ...text
}: TextProps & { readonly task: TaskDetail; readonly said?: boolean }) {
  const now = useNow();
  return (
    <>
      {said && (
        <VisuallyHidden role="status">
          {isWaiting(task) ? waitText(task) : 'The image is being generated'}
        </VisuallyHidden>
      )}
      <Text size="sm" className="numbers" style={{ overflowWrap: 'anywhere' }} aria-live="off" {...text}>
        {isWaiting(task) ? waitLine(task, now) : runLine(task, now)}
      </Text>
    </>
  );
}

function waitLine(task: TaskDetail, now: number): string {
  const { waiting, position, calls } = task;
  const failed = calls === 0 ? '' : `${attemptOf(task)} ${endOf(lastCallOf(task))} `;
  return [
    `${failed}${waitText(task, now)}`,
    waiting?.for === 'approval' ? 'an owner or admin must approve it' : '',
    waiting?.for === 'line' || position === null ? '' : `position ${position}`,
    leftText(task, now),
    `waited ${ageOf(task, now)}`,
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

function runLine(task: TaskDetail, now: number): string {
  if (task.phase === 'storing') return `Almost done: saving the image · ${ageOf(task, now)}`;
  const doing = task.calls > 1 ? `${attemptOf(task)} at ${lastCallOf(task)?.provider ?? 'a provider'}` : 'Generating';
  return [doing, leftText(task, now), ageOf(task, now)].filter((part) => part !== '').join(' · ');
}

function attemptOf({ calls, most_calls: most }: TaskDetail): string {
  return `Attempt ${calls} of ${most}`;
}

/** "about 8 s left"; empty where nothing is known, or the estimate has passed. */
function leftText({ estimated_time: seconds, created_at: start }: TaskDetail, now: number): string {
  const left = seconds === undefined ? 0 : Math.ceil(seconds - (now - Date.parse(start)) / 1000);
  return left < 1 ? '' : `about ${duration(left * 1000).replace('.0', '')} left`;
}

function ageOf({ created_at: start }: TaskDetail, now: number): string {
  return clockSpan(Math.max(0, now - Date.parse(start)));
}

function lastCallOf(task: TaskDetail): TimelineEvent | undefined {
  return task.timeline.findLast(({ event }) => event === 'provider_call');
}

function endOf(call: TimelineEvent | undefined): string {
  if (call?.outcome !== 'failed') return 'was interrupted.';
  const provider = call.provider ?? 'the provider';
  if (call.provider_status !== undefined) return `failed: ${provider} returned ${call.provider_status}.`;
  return call.code === 'upstream_invalid_response'
    ? `failed: ${provider} returned no usable image.`
    : `failed at ${provider}.`;
}
