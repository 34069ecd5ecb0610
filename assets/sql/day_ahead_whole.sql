-- A market day of a feed's day-ahead prices that has begun to come is whole: 23, 24 or 25 hours, or 92, 96 or 100
-- quarters, and not some of each. The first day of the rows at hand may be cut.
WITH days AS (
    SELECT
        zone, timezone(market_tz, starts_at)::DATE AS day, market_tz, feed, resolution, seconds, count(*) AS intervals
    FROM versions JOIN zones USING (zone) JOIN resolutions USING (resolution)
    WHERE superseded_at IS NULL
      AND (metric = 'price_day_ahead' OR (metric = 'price' AND headline LIKE 'day-ahead auction%'))
    GROUP BY ALL
),
wanted AS (
    SELECT
        *, min(day) OVER (PARTITION BY zone, feed) AS first_day,
        epoch(timezone(market_tz, (day + 1)::TIMESTAMP)) - epoch(timezone(market_tz, day::TIMESTAMP)) AS length
    FROM days
)
SELECT zone, day, format('{}: {} of {:.0f} intervals of {}', feed, intervals, length / seconds, resolution) AS detail
FROM wanted
WHERE intervals * seconds <> length AND day > first_day
