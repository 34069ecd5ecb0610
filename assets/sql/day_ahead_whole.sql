-- A market day with day-ahead prices of a feed is complete: it has 23, 24 or 25 hours, or 92, 96 or 100 quarter hours,
-- not a mixture. The first day is skipped, because its rows may be cut.
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
