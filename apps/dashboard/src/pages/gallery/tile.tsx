import { Badge, Box, Checkbox, Text, UnstyledButton, VisuallyHidden } from '@mantine/core';
import type { TaskRow } from '../../api/types.ts';
import { FavoriteStar } from '../../parts/favorite-star.tsx';
import { fromNow } from '../../parts/format.ts';
import { SandboxMark, StoredImage } from '../../parts/stored-image.tsx';
import { useOrderer } from '../../parts/use-orderer.ts';

interface TileProps {
  readonly task: TaskRow;
  /** Position such as "2 of 48", which tells equal prompts apart. */
  readonly place: string;
  /** The only tile in the tab order; the arrow keys lead to the others. */
  readonly isCurrent: boolean;
  readonly isSelected: boolean;
  readonly mayStar: boolean;
  readonly onOpen: () => void;
  readonly onSelect: () => void;
  readonly onFocus: () => void;
}

/** A task's first image, with its prompt; several images are counted. */
export function Tile({ task, place, isCurrent, isSelected, mayStar, onOpen, onSelect, onFocus }: TileProps) {
  const by = useOrderer()(task) ?? task.key.name;
  const tabIndex = isCurrent ? 0 : -1;
  const name = `${task.prompt.slice(0, 120)}, ${place}`;
  return (
    <Box className="tile" data-tile data-selected={isSelected} onFocus={onFocus}>
      <UnstyledButton
        className="tile-image image-ground"
        data-open
        tabIndex={tabIndex}
        title={[task.prompt, by, fromNow(task.created_at)].join('\n')}
        onClick={onOpen}
      >
        <VisuallyHidden>{name}</VisuallyHidden>
        {task.thumbnail_url !== null && (
          <StoredImage
            url={task.thumbnail_url}
            imageId={task.id}
            alt=""
            missing="Missing"
            w="100%"
            h="100%"
            fit="cover"
            loading="lazy"
          />
        )}
      </UnstyledButton>
      <Checkbox
        className="tile-choice"
        size="md"
        tabIndex={tabIndex}
        aria-label={`Select ${name}`}
        checked={isSelected}
        onChange={onSelect}
      />
      {mayStar && (
        <FavoriteStar task={task} place={place} size={26} pos="absolute" top={6} right={6} tabIndex={tabIndex} />
      )}
      {task.image_count > 1 && (
        <Badge className="tile-count" color="gray" variant="filled">
          {task.image_count} images
        </Badge>
      )}
      <Text size="xs" c="dimmed" truncate px={2} pt={4}>
        {task.prompt}
      </Text>
      {task.sandbox && <SandboxMark small />}
    </Box>
  );
}
