import { Button, Group, NumberInput, VisuallyHidden } from '@mantine/core';
import { useState } from 'react';

/** A rectangle in percent of the image. */
export type Area = readonly [left: number, top: number, width: number, height: number];

const FIELDS = ['Left', 'Top', 'Width', 'Height'];
const EVERYTHING: Area = [0, 0, 100, 100];
const MIDDLE: Area = [25, 25, 50, 50];

interface MaskAreaProps {
  /** What the rectangle does. */
  readonly tool: 'brush' | 'eraser';
  readonly onAdd: (area: Area) => void;
}

/** Paints or erases rectangles with only the keyboard. */
export function MaskArea({ tool, onAdd }: MaskAreaProps) {
  const [area, setArea] = useState(MIDDLE);
  const [said, setSaid] = useState('');
  const add = (added: Area) => {
    const [left, top, width, height] = added;
    onAdd(added);
    const verb = tool === 'brush' ? 'Painted' : 'Erased';
    setSaid(`${verb}: ${width}% × ${height}% of the image, ${left}% from the left and ${top}% from the top.`);
  };
  const set = (place: number, value: string | number) => {
    const next = [...area] as [number, number, number, number];
    next[place] = Number(value);
    setArea(next);
  };
  return (
    <Group gap="xs" align="flex-end" role="group" aria-label="Rectangle, in percent of the image">
      {FIELDS.map((name, place) => (
        <NumberInput
          key={name}
          size="xs"
          w={76}
          label={name}
          suffix="%"
          min={0}
          max={100}
          clampBehavior="strict"
          value={area[place] ?? 0}
          onChange={(value) => set(place, value)}
        />
      ))}
      <Button variant="default" size="xs" onClick={() => add(area)}>
        {tool === 'brush' ? 'Paint rectangle' : 'Erase rectangle'}
      </Button>
      <Button variant="default" size="xs" onClick={() => add(EVERYTHING)}>
        {tool === 'brush' ? 'Paint everything' : 'Erase everything'}
      </Button>
      <VisuallyHidden role="status">{said}</VisuallyHidden>
    </Group>
  );
}
