-- Compares EIA-930's generation of California with CAISO's. A day's hourly means may differ on average by 10% or 200
-- MW. Other fuels are not comparable: EIA's wind is lower, its other is batteries, and it lacks geothermal and biomass.
WITH hours AS (
    SELECT zone, fuel, feed, ts // 3600 AS hour, avg(value) AS mw
    FROM versions JOIN resolutions USING (resolution)
    WHERE zone = 'US-CAISO' AND metric = 'generation' AND superseded_at IS NULL
      AND fuel IN ('gas', 'nuclear', 'solar', 'hydro')
    GROUP BY ALL
    HAVING sum(seconds) = 3600
)
SELECT
    zone, timezone(tz, to_timestamp(hour * 3600))::DATE AS day,
    format('{}: EIA and CAISO are {:.0f} MW apart over {} hours, of {:.0f} MW',
           fuel, avg(abs(e.mw - c.mw)), count(*), avg(c.mw)) AS detail
FROM hours e JOIN hours c USING (zone, fuel, hour) JOIN zones USING (zone)
WHERE e.feed = 'eia.generation' AND c.feed = 'caiso.fuelsource'
GROUP BY zone, day, fuel
HAVING avg(abs(e.mw - c.mw)) > greatest(200, 0.1 * avg(abs(c.mw)))
