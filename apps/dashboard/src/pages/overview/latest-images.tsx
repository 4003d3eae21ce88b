import { Box, Group, Skeleton, Text, Title, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { latestImagesQuery, useMay } from '../../api/queries.ts';
import { fromNow } from '../../parts/format.ts';
import { StoredImage } from '../../parts/stored-image.tsx';

// The first page loads without it.
const TaskLightbox = lazy(async () => ({
  default: (await import('../playground/task-lightbox.tsx')).TaskLightbox,
}));

/** The newest images that the user may see; nothing while there are none. */
export function LatestImages() {
  const mayRead = useMay()('tasks.read');
  const { data } = useQuery({ ...latestImagesQuery, enabled: mayRead });
  const [shown, setShown] = useState<number | null>(null);
  const tasks = (data?.data ?? []).filter(({ image_count: count }) => count > 0);
  if (!mayRead || (data !== undefined && tasks.length === 0)) return null;
  return (
    <Box className="surface" p="lg" component="section" aria-label="Latest images">
      <Group justify="space-between" mb="sm">
        <Title order={2} fz="md">
          Latest images
        </Title>
        <Link to="/gallery" className="text-link action">
          Open gallery
        </Link>
      </Group>
      {data === undefined && <Skeleton height={120} />}
      <div className="latest-images">
        {tasks.map((task, position) => (
          <UnstyledButton
            key={task.id}
            className="tile-image image-ground"
            title={[task.prompt, fromNow(task.created_at)].join('\n')}
            onClick={() => setShown(position)}
          >
            <VisuallyHidden>{`${task.prompt}, ${position + 1} of ${tasks.length}`}</VisuallyHidden>
            {task.thumbnail_url === null ? (
              <Text size="xs">Expired</Text>
            ) : (
              <StoredImage
                url={task.thumbnail_url}
                imageId={task.id}
                alt=""
                missing="Missing"
                w="100%"
                h="100%"
                fit="cover"
              />
            )}
          </UnstyledButton>
        ))}
      </div>
      <Suspense>
        {shown !== null && (
          <TaskLightbox
            images={tasks.map(({ id, thumbnail_url: preview }) => ({ taskId: id, index: 0, preview }))}
            shown={shown}
            onShow={setShown}
            onClose={() => setShown(null)}
          />
        )}
      </Suspense>
    </Box>
  );
}
