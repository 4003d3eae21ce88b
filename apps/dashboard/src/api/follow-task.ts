import { useEffect, useState } from 'react';
import { queryClient, taskQuery } from './queries.ts';
import { addressOf } from './request.ts';
import type { PartialImage, TaskDetail } from './types.ts';

/** Keeps a task's query up to date until it ends, and returns the URL of the newest partial image, if any. */
export function useFollowTask(id: string | null, isRunning: boolean): string | null {
  const [image, setImage] = useState<{ id: string; url: string } | null>(null);
  useEffect(() => {
    if (id === null || !isRunning) return;
    const source = new EventSource(addressOf(`/tasks/${encodeURIComponent(id)}/events`));
    source.addEventListener('task.updated', ({ data }: MessageEvent<string>) => {
      const task = JSON.parse(data) as TaskDetail;
      queryClient.setQueryData(taskQuery(id).queryKey, task);
      if (task.status === 'pending') return;
      source.close();
      // Reads what the stream may leave out, and updates lists.
      void queryClient.invalidateQueries(taskQuery(id));
      void queryClient.invalidateQueries({ queryKey: ['tasks'] });
    });
    source.addEventListener('partial', ({ data }: MessageEvent<string>) => {
      const { b64_json: base64, output_format: format } = JSON.parse(data) as PartialImage;
      setImage({ id, url: `data:image/${format};base64,${base64}` });
    });
    return () => source.close();
  }, [id, isRunning]);
  return image?.id === id ? image.url : null;
}
